//! Whom TLS trusts: Mozilla's roots, compiled in, and those of a file.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::{FetchError, Settings};

/// Returns the TLS settings of every connection, without ALPN.
pub(super) fn tls_config(settings: &Settings) -> Result<ClientConfig, FetchError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = &settings.ca_file {
        let wrong = |why: String| FetchError::CaFile { path: path.clone(), why };
        let certificates =
            CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
        let mut added = 0;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
            roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
            added += 1;
        }
        if added == 0 {
            return Err(wrong("it holds no certificate in PEM form".to_owned()));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| FetchError::Tls(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::in_memory_sessions(settings.tls_sessions_max);
    Ok(config)
}
