//! The web's own name server: UDP and TCP on loopback, with names that fail as described.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, AAAA, SOA};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::server::Shared;
use super::spec::DnsAnswer;

/// Questions that wait for their answer at once; further ones wait in the socket.
const QUESTIONS_MAX: usize = 256;

/// Longest question; RFC 1035 §4.2.1 allows 512 bytes, EDNS more.
const QUESTION_BYTES_MAX: usize = 4096;

/// How long a TCP connection may be idle.
const TCP_IDLE: Duration = Duration::from_secs(10);

/// How long the absence of a name may be kept, in seconds.
const NEGATIVE_TTL: u32 = 60;

/// Opens both sockets on one port of 127.0.0.1; 0 lets the system choose.
pub(super) async fn bind(port: u16) -> io::Result<(UdpSocket, TcpListener)> {
    let tcp = TcpListener::bind((IpAddr::from([127, 0, 0, 1]), port)).await?;
    let udp = UdpSocket::bind(tcp.local_addr()?).await?;
    Ok((udp, tcp))
}

/// Answers questions over UDP until the task is dropped.
pub(super) async fn serve_udp(socket: UdpSocket, shared: Arc<Shared>) {
    let socket = Arc::new(socket);
    let places = Arc::new(Semaphore::new(QUESTIONS_MAX));
    let mut buffer = vec![0; QUESTION_BYTES_MAX];
    while let Ok(place) = places.clone().acquire_owned().await {
        // An error here is about an earlier answer (its asker is gone), not about the socket.
        let Ok((length, asker)) = socket.recv_from(&mut buffer).await else { continue };
        let (question, socket, shared) =
            (buffer[..length].to_vec(), socket.clone(), shared.clone());
        let closed = shared.closed();
        tokio::spawn(async move {
            let _place = place;
            tokio::select! {
                () = answer_datagram(&socket, &shared, &question, asker) => {}
                () = closed => {}
            }
        });
    }
}

async fn answer_datagram(socket: &UdpSocket, shared: &Shared, question: &[u8], asker: SocketAddr) {
    if let Some(answer) = answer(shared, question).await {
        // Whoever does not wait for the answer needs none.
        let _ = socket.send_to(&answer, asker).await;
    }
}

/// Answers questions over TCP until the task is dropped.
pub(super) async fn serve_tcp(listener: TcpListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(QUESTIONS_MAX));
    while let Ok(place) = places.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (shared, closed) = (shared.clone(), shared.closed());
        tokio::spawn(async move {
            let _place = place;
            tokio::select! {
                _ = converse(stream, &shared) => {}
                () = closed => {}
            }
        });
    }
}

/// Answers the questions of one connection, each with its length in front (RFC 1035 §4.2.2).
async fn converse(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    loop {
        let length = tokio::time::timeout(TCP_IDLE, stream.read_u16()).await??;
        if usize::from(length) > QUESTION_BYTES_MAX {
            return Ok(());
        }
        let mut question = vec![0; length.into()];
        stream.read_exact(&mut question).await?;
        if let Some(answer) = answer(shared, &question).await {
            stream.write_u16(u16::try_from(answer.len()).unwrap_or(0)).await?;
            stream.write_all(&answer).await?;
        }
    }
}

/// Returns the answer to a question after its time; none where the server is to be silent.
async fn answer(shared: &Shared, question: &[u8]) -> Option<Vec<u8>> {
    let question = Message::from_vec(question).ok()?;
    if question.metadata.message_type != MessageType::Query {
        return None;
    }
    let mut message = Message::response(question.metadata.id, question.metadata.op_code);
    message.metadata.recursion_desired = question.metadata.recursion_desired;
    message.metadata.recursion_available = true;
    message.metadata.authoritative = true;
    let Some(query) = question.queries.first() else {
        message.metadata.response_code = ResponseCode::FormErr;
        return message.to_vec().ok();
    };
    message.add_query(query.clone());
    if question.metadata.op_code != OpCode::Query {
        message.metadata.response_code = ResponseCode::NotImp;
        return message.to_vec().ok();
    }
    let name = query.name().to_ascii().trim_end_matches('.').to_ascii_lowercase();
    let spec = shared.web.site_of(&name).map(|site| site.spec.dns.clone()).unwrap_or_default();
    sleep(spec.latency).await;
    let ttl = u32::try_from(spec.ttl.as_secs()).unwrap_or(u32::MAX);
    match shared.web.address(&name, shared.elapsed()) {
        Ok(address) | Err(DnsAnswer::Private(address)) => {
            match record(query.name(), query.query_type(), address, ttl) {
                Some(record) => drop(message.add_answer(record)),
                None => drop(message.add_authority(authority(query.name()))),
            }
        }
        Err(DnsAnswer::Silent) => return None,
        Err(DnsAnswer::Fails) => message.metadata.response_code = ResponseCode::ServFail,
        Err(DnsAnswer::NotFound | DnsAnswer::Address | DnsAnswer::Changing(_)) => {
            message.metadata.response_code = ResponseCode::NXDomain;
            message.add_authority(authority(query.name()));
        }
    }
    message.to_vec().ok()
}

fn record(name: &Name, kind: RecordType, address: IpAddr, ttl: u32) -> Option<Record> {
    let rdata = match (kind, address) {
        (RecordType::A, IpAddr::V4(address)) => RData::A(A(address)),
        (RecordType::AAAA, IpAddr::V6(address)) => RData::AAAA(AAAA(address)),
        _ => return None,
    };
    Some(Record::from_rdata(name.clone(), ttl, rdata))
}

/// Returns the SOA record that says how long an absence may be kept (RFC 2308 §3).
fn authority(name: &Name) -> Record {
    let zone = name.base_name();
    let server = Name::from_str("ns.test.").unwrap_or_default();
    let soa = SOA::new(server.clone(), server, 1, 3600, 600, 86_400, NEGATIVE_TTL);
    Record::from_rdata(zone, NEGATIVE_TTL, RData::SOA(soa))
}
