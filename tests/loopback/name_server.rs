//! A name server that answers as it is told, by UDP and TCP on one port.
//!
//! Messages are put together by hand, since half of them must be wrong (RFC 1035 §4).

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinHandle;

/// What is said of a name.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Its IPv4 addresses and their TTL.
    V4(Vec<[u8; 4]>, u32),
    /// One IPv6 address and no other.
    V6(Ipv6Addr),
    /// An address of each kind.
    Dual([u8; 4], Ipv6Addr),
    /// First these, from the second question on those; TTL 0.
    Rebind([u8; 4], [u8; 4]),
    /// An alias, which the asker must follow.
    Alias(&'static str),
    /// Addresses by TCP only; UDP answers are cut off.
    Cut([u8; 4]),
    /// An answer to another question.
    WrongId([u8; 4]),
    /// A code other than 0.
    Code(u8),
    /// Bytes that are no message.
    Garbage,
    /// Nothing.
    Silence,
}

/// A name server on loopback; names it does not know do not exist.
pub(crate) struct NameServer {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<(String, u16)>>>,
    tasks: [JoinHandle<()>; 2],
}

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

impl NameServer {
    pub(crate) async fn start(zone: &[(&str, Reply)]) -> Self {
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            // The same port may be taken for TCP; then another is tried.
            if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()).await {
                break (udp, tcp);
            }
        };
        let address = udp.local_addr().unwrap();
        let zone: HashMap<String, Reply> =
            zone.iter().map(|(name, reply)| ((*name).to_owned(), reply.clone())).collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let zone = Arc::new(Zone { zone, asked: asked.clone() });
        let by_udp = zone.clone();
        let udp_task = tokio::spawn(async move {
            let mut question = [0; 1500];
            while let Ok((len, from)) = udp.recv_from(&mut question).await {
                if let Some(reply) = by_udp.reply(&question[..len], false) {
                    let _ = udp.send_to(&reply, from).await;
                }
            }
        });
        let tcp_task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = tcp.accept().await {
                let Ok(len) = stream.read_u16().await else { continue };
                let mut question = vec![0; usize::from(len)];
                if stream.read_exact(&mut question).await.is_err() {
                    continue;
                }
                if let Some(reply) = zone.reply(&question, true) {
                    let _ = stream.write_u16(reply.len() as u16).await;
                    let _ = stream.write_all(&reply).await;
                }
            }
        });
        NameServer { address, asked, tasks: [udp_task, tcp_task] }
    }

    /// Returns how often an address of `name` was asked for.
    pub(crate) fn asked(&self, name: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|(asked, _)| asked == name).count()
    }

    /// Returns all names that were asked for.
    pub(crate) fn names(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(name, _)| name.clone()).collect()
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

struct Zone {
    zone: HashMap<String, Reply>,
    asked: Arc<Mutex<Vec<(String, u16)>>>,
}

impl Zone {
    fn reply(&self, question: &[u8], tcp: bool) -> Option<Vec<u8>> {
        let (name, end) = read_name(question, 12);
        let kind = u16::from_be_bytes([question[end], question[end + 1]]);
        let earlier = {
            let mut asked = self.asked.lock().unwrap();
            asked.push((name.clone(), kind));
            asked.iter().filter(|one| **one == (name.clone(), kind)).count() - 1
        };
        let mut message = Message::to(question, end + 4);
        let any = name.split_once('.').map(|(_, parent)| format!("*.{parent}"));
        let known = self.zone.get(&name).or_else(|| self.zone.get(&any?));
        match known {
            None => message.code(3),
            Some(Reply::V4(addresses, ttl)) if kind == A => {
                addresses.iter().for_each(|v4| message.address(Ipv4Addr::from(*v4).into(), *ttl));
            }
            Some(Reply::V6(address)) if kind == AAAA => message.address((*address).into(), 300),
            Some(Reply::Dual(v4, _)) if kind == A => {
                message.address(Ipv4Addr::from(*v4).into(), 300);
            }
            Some(Reply::Dual(_, v6)) if kind == AAAA => message.address((*v6).into(), 300),
            Some(Reply::Rebind(first, later)) if kind == A => {
                let now = if earlier == 0 { first } else { later };
                message.address(Ipv4Addr::from(*now).into(), 0);
            }
            Some(Reply::Alias(target)) => message.alias(target),
            Some(Reply::Cut(address)) if kind == A => match tcp {
                true => message.address(Ipv4Addr::from(*address).into(), 300),
                false => message.0[2] |= 2,
            },
            Some(Reply::WrongId(address)) if kind == A => {
                message.address(Ipv4Addr::from(*address).into(), 300);
                message.0[0] ^= 0xff;
            }
            Some(Reply::Code(code)) => message.code(*code),
            Some(Reply::Garbage) => return Some(vec![0xff; 40]),
            Some(Reply::Silence) => return None,
            Some(_) => {}
        }
        Some(message.0)
    }
}

struct Message(Vec<u8>);

impl Message {
    /// Begins the answer to a question whose question section ends at `end`.
    fn to(question: &[u8], end: usize) -> Self {
        let mut bytes = question[..end].to_vec();
        bytes[2] = 0x81;
        bytes[3] = 0x80;
        bytes[4..12].copy_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0]);
        Message(bytes)
    }

    fn code(&mut self, code: u8) {
        self.0[3] = 0x80 | code;
    }

    fn record(&mut self, kind: u16, ttl: u32, rdata: &[u8]) {
        self.0[7] += 1;
        // The owner is the name that was asked for, at offset 12.
        self.0.extend([0xc0, 12]);
        self.0.extend(kind.to_be_bytes());
        self.0.extend([0, 1]);
        self.0.extend(ttl.to_be_bytes());
        self.0.extend((rdata.len() as u16).to_be_bytes());
        self.0.extend(rdata);
    }

    fn address(&mut self, address: IpAddr, ttl: u32) {
        match address {
            IpAddr::V4(v4) => self.record(A, ttl, &v4.octets()),
            IpAddr::V6(v6) => self.record(AAAA, ttl, &v6.octets()),
        }
    }

    fn alias(&mut self, target: &str) {
        let mut rdata = Vec::new();
        for label in target.split('.') {
            rdata.push(label.len() as u8);
            rdata.extend(label.as_bytes());
        }
        rdata.push(0);
        self.record(CNAME, 300, &rdata);
    }
}

/// Returns the name at `at` in lower case, and where it ends.
fn read_name(message: &[u8], mut at: usize) -> (String, usize) {
    let mut labels = Vec::new();
    while message[at] > 0 {
        let end = at + 1 + usize::from(message[at]);
        labels.push(String::from_utf8_lossy(&message[at + 1..end]).to_lowercase());
        at = end;
    }
    (labels.join("."), at + 1)
}
