//! Signed requests: Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol), which are HTTP Message
//! Signatures (RFC 9421) by a key that the operator publishes.
//!
//! Off unless a key and an agent are configured, and even then a request is signed only where the
//! origin has asked for it: by `Accept-Signature` with the tag `web-bot-auth` in an answer of 401,
//! 403 or 429. The URL is then fetched again under a lease of its own. A signature covers
//! authority, method and path, so that one which is overheard says little, and holds some minutes.
//!
//! It is identification, not authorization: who signs is still bound by robots.txt and politeness.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::request::authority;
use crate::clock::Timestamp;
use crate::url::{CrawlUrl, Origin};

/// Tag of Web Bot Auth.
const TAG: &str = "web-bot-auth";

/// Label of our signature.
const LABEL: &str = "sig1";

/// How long a signature holds: enough for clocks that differ.
const VALID_SECS: u64 = 300;

/// Origins that asked and are remembered; further ones must ask again.
const ASKED_MAX: usize = 10_000;

/// Bytes of a nonce that a server may ask to be sent back.
const NONCE_MAX: usize = 256;

/// Where a directory of keys is served.
pub const DIRECTORY_PATH: &str = "/.well-known/http-message-signatures-directory";

/// Why requests cannot be signed.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// The key cannot be read.
    #[error("read the key {}: {why}; `crawler identity init --sign` makes one", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: std::io::Error,
    },
    /// The file holds no key of ours.
    #[error("use the key {}: it is no Ed25519 key in PKCS#8 PEM", .0.display())]
    NoKey(PathBuf),
    /// The agent is no origin.
    #[error("use `signature_agent = \"{0}\"`: write an origin as \"https://bot.example.org\"")]
    Agent(String),
    /// One setting without the other.
    #[error("sign requests: `signature_key` and `signature_agent` belong together; set both")]
    Half,
    /// The system gives no random bytes.
    #[error("make a key: the system gives no random bytes")]
    NoRandomness,
}

/// A key for signing.
#[derive(Debug)]
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// Makes a new key; returns it as PKCS#8 in PEM.
    ///
    /// # Errors
    /// Fails where the system gives no random bytes.
    pub fn generate() -> Result<String, SignatureError> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        let document = document.map_err(|_| SignatureError::NoRandomness)?;
        let base64 = BASE64.encode(document.as_ref());
        let mut pem = "-----BEGIN PRIVATE KEY-----\n".to_owned();
        for line in base64.as_bytes().chunks(64) {
            pem.push_str(&String::from_utf8_lossy(line));
            pem.push('\n');
        }
        pem.push_str("-----END PRIVATE KEY-----\n");
        Ok(pem)
    }

    /// Reads a key from PEM; `None` if it is none.
    pub fn from_pem(pem: &str) -> Option<SigningKey> {
        let inner = pem.split("-----BEGIN PRIVATE KEY-----").nth(1)?;
        let inner = inner.split("-----END PRIVATE KEY-----").next()?;
        let base64: String = inner.chars().filter(|c| !c.is_whitespace()).collect();
        let document = BASE64.decode(base64.as_bytes()).ok()?;
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&document).ok()?;
        Some(SigningKey(key))
    }

    /// Reads a key from a file.
    ///
    /// # Errors
    /// Fails if there is none.
    pub fn read(path: &Path) -> Result<SigningKey, SignatureError> {
        let pem = std::fs::read_to_string(path)
            .map_err(|why| SignatureError::Unreadable { path: path.to_owned(), why })?;
        SigningKey::from_pem(&pem).ok_or_else(|| SignatureError::NoKey(path.to_owned()))
    }

    fn public(&self) -> String {
        BASE64URL_NOPAD.encode(self.0.public_key().as_ref())
    }

    /// Returns the thumbprint by which the key is known (RFC 7638, RFC 8037 appendix A.3).
    pub fn id(&self) -> String {
        let canonical = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, self.public());
        BASE64URL_NOPAD.encode(&Sha256::digest(canonical.as_bytes()))
    }

    /// Returns the directory that makes the key known: a JSON Web Key Set.
    pub fn directory(&self) -> Value {
        json!({ "keys": [{
            "kty": "OKP", "crv": "Ed25519", "kid": self.id(), "x": self.public(), "use": "sig",
        }] })
    }

    fn sign(&self, base: &str) -> String {
        BASE64.encode(self.0.sign(base.as_bytes()).as_ref())
    }
}

/// Returns the signature base of RFC 9421 §2.5: each component on a line, then the parameters.
fn signature_base(components: &[(String, String)], params: &str) -> String {
    let mut base = String::new();
    for (identifier, value) in components {
        base.push_str(&format!("{identifier}: {value}\n"));
    }
    base.push_str(&format!("\"@signature-params\": {params}"));
    base
}

/// Returns the parameters of a signature over components: the value of its `Signature-Input`.
fn signature_params(components: &[(String, String)], rest: &str) -> String {
    let names: Vec<&str> = components.iter().map(|(name, _)| name.as_str()).collect();
    format!("({}){rest}", names.join(" "))
}

/// Signs requests to origins that asked for it.
#[derive(Debug)]
pub(super) struct Signer {
    key: SigningKey,
    key_id: String,
    agent: String,
    asked: Mutex<HashMap<Origin, Option<String>>>,
}

impl Signer {
    /// Makes a signer, if both settings are there.
    pub(super) fn new(
        key: Option<&Path>,
        agent: Option<&str>,
    ) -> Result<Option<Signer>, SignatureError> {
        let (path, agent) = match (key, agent) {
            (None, None) => return Ok(None),
            (Some(path), Some(agent)) => (path, agent),
            _ => return Err(SignatureError::Half),
        };
        let bad = || SignatureError::Agent(agent.to_owned());
        let url = CrawlUrl::parse(agent).map_err(|_| bad())?;
        if !url.is_https() || url.path_and_query() != "/" {
            return Err(bad());
        }
        let key = SigningKey::read(path)?;
        let agent = url.as_str().trim_end_matches('/').to_owned();
        Ok(Some(Signer { key_id: key.id(), key, agent, asked: Mutex::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Origin, Option<String>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what an answer asks for; returns true if the request is worth another try, signed.
    /// `was_signed` says that this one was: whoever refuses a signature is not asked again.
    pub(super) fn hear(
        &self,
        url: &CrawlUrl,
        status: u16,
        headers: &HeaderMap,
        was_signed: bool,
    ) -> bool {
        if !matches!(status, 401 | 403 | 429) {
            return false;
        }
        let values = headers.get_all("accept-signature");
        let Some(nonce) = values.iter().find_map(|value| asks(value.to_str().ok()?)) else {
            return false;
        };
        let mut asked = self.lock();
        if asked.len() >= ASKED_MAX {
            asked.clear();
        }
        asked.insert(url.origin(), nonce);
        !was_signed
    }

    /// Adds the fields of a signature, where the origin asked for one. Returns true if it did.
    pub(super) fn sign(&self, url: &CrawlUrl, now: Timestamp, headers: &mut HeaderMap) -> bool {
        let nonce = match self.lock().get_mut(&url.origin()) {
            None => return false,
            // A nonce of the server's is good for one request.
            Some(asked) => asked.take().or_else(nonce),
        };
        let agent = format!("{LABEL}=\"{}\"", self.agent);
        let (input, signature) = self.signature(url, now.as_millis() / 1000, nonce.as_deref());
        let fields = [
            ("signature-agent", agent),
            ("signature-input", format!("{LABEL}={input}")),
            ("signature", format!("{LABEL}=:{signature}:")),
        ];
        for (name, value) in fields {
            let Ok(value) = HeaderValue::try_from(value) else { return false };
            headers.insert(HeaderName::from_static(name), value);
        }
        true
    }

    fn signature(&self, url: &CrawlUrl, created: u64, nonce: Option<&str>) -> (String, String) {
        let path = url.path_and_query().split('?').next().unwrap_or("/");
        let components = [
            ("\"@authority\"".to_owned(), authority(url).to_ascii_lowercase()),
            ("\"@method\"".to_owned(), "GET".to_owned()),
            ("\"@path\"".to_owned(), path.to_owned()),
            (format!("\"signature-agent\";key=\"{LABEL}\""), format!("\"{}\"", self.agent)),
        ];
        let expires = created + VALID_SECS;
        let mut rest = format!(
            ";created={created};expires={expires};keyid=\"{}\";alg=\"ed25519\"",
            self.key_id
        );
        if let Some(nonce) = nonce {
            rest.push_str(&format!(";nonce=\"{nonce}\""));
        }
        rest.push_str(&format!(";tag=\"{TAG}\""));
        let params = signature_params(&components, &rest);
        let signature = self.key.sign(&signature_base(&components, &params));
        (params, signature)
    }
}

/// Returns a nonce of our own; without randomness, none.
fn nonce() -> Option<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(BASE64.encode(&bytes))
}

/// Reads an `Accept-Signature`: `None` if it does not ask for Web Bot Auth, else the nonce that it
/// wants back, if any (RFC 9421 §5.1).
fn asks(value: &str) -> Option<Option<String>> {
    if !value.contains(&format!("tag=\"{TAG}\"")) {
        return None;
    }
    let nonce = value.split("nonce=\"").nth(1).and_then(|rest| rest.split('"').next());
    let is_sound = |nonce: &&str| {
        let allowed = |c: char| c.is_ascii_graphic() && c != '\\';
        !nonce.is_empty() && nonce.len() <= NONCE_MAX && nonce.chars().all(allowed)
    };
    Some(nonce.filter(is_sound).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of RFC 9421 appendix B.1.4.
    const RFC_KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n\
        -----END PRIVATE KEY-----\n";

    fn key() -> SigningKey {
        SigningKey::from_pem(RFC_KEY).unwrap()
    }

    fn check(components: &[(&str, &str)], rest: &str, want_base: &str, want: &str) {
        let components: Vec<(String, String)> =
            components.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let params = signature_params(&components, rest);
        let base = signature_base(&components, &params);
        assert_eq!(base, want_base);
        assert_eq!(key().sign(&base), want);
    }

    #[test]
    fn the_example_of_rfc_9421_b_2_6_is_signed_as_there() {
        check(
            &[
                ("\"date\"", "Tue, 20 Apr 2021 02:07:55 GMT"),
                ("\"@method\"", "POST"),
                ("\"@path\"", "/foo"),
                ("\"@authority\"", "example.com"),
                ("\"content-type\"", "application/json"),
                ("\"content-length\"", "18"),
            ],
            ";created=1618884473;keyid=\"test-key-ed25519\"",
            "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\"@method\": POST\n\"@path\": /foo\n\
             \"@authority\": example.com\n\"content-type\": application/json\n\
             \"content-length\": 18\n\"@signature-params\": (\"date\" \"@method\" \"@path\" \
             \"@authority\" \"content-type\" \"content-length\");created=1618884473;\
             keyid=\"test-key-ed25519\"",
            "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
        );
    }

    #[test]
    fn the_example_of_web_bot_auth_is_signed_as_there() {
        let rest = ";created=1735689600;keyid=\"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U\";\
                    alg=\"ed25519\";expires=4889289600;nonce=\"n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+\
                    6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==\";tag=\"web-bot-auth\"";
        let base = format!(
            "\"@authority\": example.com\n\"signature-agent\";key=\"agent2\": \
             \"https://signature-agent.test\"\n\"@signature-params\": (\"@authority\" \
             \"signature-agent\";key=\"agent2\"){rest}"
        );
        check(
            &[
                ("\"@authority\"", "example.com"),
                ("\"signature-agent\";key=\"agent2\"", "\"https://signature-agent.test\""),
            ],
            rest,
            &base,
            "RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==",
        );
    }

    #[test]
    fn a_key_is_known_by_the_thumbprint_of_the_draft_and_published_as_there() {
        assert_eq!(key().id(), "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U");
        let directory = key().directory();
        assert_eq!(directory["keys"][0]["x"], "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs");
        assert_eq!(directory["keys"][0]["kid"], key().id());
    }

    #[test]
    fn a_generated_key_can_be_read_again() {
        let pem = SigningKey::generate().unwrap();
        assert!(SigningKey::from_pem(&pem).is_some());
        assert!(SigningKey::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA").is_none());
        assert!(SigningKey::from_pem("").is_none());
    }

    fn signer() -> Signer {
        let key = key();
        let agent = "https://bot.example.org".to_owned();
        Signer { key_id: key.id(), key, agent, asked: Mutex::default() }
    }

    fn asking(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("accept-signature", HeaderValue::from_str(value).unwrap());
        headers
    }

    const ASK: &str = "sig=(\"@authority\" \"signature-agent\");created;expires;keyid;\
                       nonce=\"abc+/=\";tag=\"web-bot-auth\"";

    #[test]
    fn only_those_who_ask_get_a_signature_and_their_nonce_once() {
        let signer = signer();
        let url = CrawlUrl::parse("https://a.test:8443/x?y=1").unwrap();
        let now = Timestamp::from_millis(1_735_689_600_000);
        let mut headers = HeaderMap::new();
        assert!(!signer.sign(&url, now, &mut headers) && headers.is_empty());
        assert!(!signer.hear(&url, 200, &asking(ASK), false), "a page that is there is there");
        assert!(!signer.hear(&url, 403, &HeaderMap::new(), false));
        assert!(!signer.hear(&url, 403, &asking("sig=();tag=\"other\""), false));
        assert!(signer.lock().is_empty());
        assert!(signer.hear(&url, 403, &asking(ASK), false));
        assert!(signer.sign(&url, now, &mut headers));
        let input = headers["signature-input"].to_str().unwrap();
        assert_eq!(
            input,
            "sig1=(\"@authority\" \"@method\" \"@path\" \"signature-agent\";key=\"sig1\");\
             created=1735689600;expires=1735689900;\
             keyid=\"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U\";alg=\"ed25519\";\
             nonce=\"abc+/=\";tag=\"web-bot-auth\""
        );
        assert_eq!(headers["signature-agent"], "sig1=\"https://bot.example.org\"");
        let base = format!(
            "\"@authority\": a.test:8443\n\"@method\": GET\n\"@path\": /x\n\
             \"signature-agent\";key=\"sig1\": \"https://bot.example.org\"\n\
             \"@signature-params\": {}",
            input.strip_prefix("sig1=").unwrap()
        );
        assert_eq!(headers["signature"], format!("sig1=:{}:", key().sign(&base)));
        assert!(signer.sign(&url, now, &mut headers));
        assert!(!headers["signature-input"].to_str().unwrap().contains("abc+/="));
        assert!(!signer.hear(&url, 403, &asking(ASK), true), "a refused signature is final");
    }

    #[test]
    fn a_nonce_that_would_break_out_of_its_quotes_is_not_sent_back() {
        for bad in ["", "a\\", &"x".repeat(300), "a b"] {
            let ask = format!("sig=();nonce=\"{bad}\";tag=\"web-bot-auth\"");
            assert_eq!(asks(&ask), Some(None), "{bad}");
        }
    }

    #[test]
    fn both_settings_or_none() {
        assert!(Signer::new(None, None).unwrap().is_none());
        let key = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(key.path(), RFC_KEY).unwrap();
        assert!(matches!(Signer::new(Some(key.path()), None), Err(SignatureError::Half)));
        for bad in ["http://bot.test", "https://bot.test/path", "bot.test", ""] {
            let made = Signer::new(Some(key.path()), Some(bad));
            assert!(matches!(made, Err(SignatureError::Agent(_))), "{bad}");
        }
        let good = Signer::new(Some(key.path()), Some("https://bot.test/")).unwrap().unwrap();
        assert_eq!(good.agent, "https://bot.test");
    }
}
