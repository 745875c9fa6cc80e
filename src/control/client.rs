//! The other side of the socket: what `crawler ctl` and `crawler top` use.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::wire::{Reply, Request, Status};
use super::{ANSWER_MAX, REPLY_MAX, WRITE_MAX, socket_path};

/// Time that an answer may take on its way beside what the crawl takes.
const SPARE: Duration = Duration::from_secs(5);

/// Why a crawl does not answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// None runs there.
    #[error("no crawl runs in {0}: start it with `crawler run`, or name another with --dir")]
    NotRunning(PathBuf),
    /// No socket can be there.
    #[error("reach the crawl: {0}")]
    Path(String),
    /// The connection broke, or nothing came in time.
    #[error("talk to the crawl in {dir}: {why}; look with `crawler status` whether it still runs")]
    Broken {
        /// The directory of the crawl.
        dir: PathBuf,
        /// What the system says.
        why: io::Error,
    },
    /// It answers what cannot be read.
    #[error("understand the crawl in {dir}: {why}; is it of another version?")]
    Foreign {
        /// The directory of the crawl.
        dir: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// A connection to a running crawl.
#[derive(Debug)]
pub struct Client {
    dir: PathBuf,
    reader: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the crawl in a directory.
    ///
    /// # Errors
    /// Returns [`ClientError::NotRunning`] where nobody listens.
    pub fn connect(dir: &Path) -> Result<Client, ClientError> {
        let path = socket_path(dir).map_err(ClientError::Path)?;
        let stream = UnixStream::connect(path).map_err(|why| match why.kind() {
            // A socket that a killed crawl left behind refuses connections.
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                ClientError::NotRunning(dir.to_owned())
            }
            _ => ClientError::Broken { dir: dir.to_owned(), why },
        })?;
        let wrap = |why| ClientError::Broken { dir: dir.to_owned(), why };
        stream.set_write_timeout(Some(WRITE_MAX)).map_err(wrap)?;
        stream.set_read_timeout(Some(ANSWER_MAX + SPARE)).map_err(wrap)?;
        Ok(Client { dir: dir.to_owned(), reader: BufReader::new(stream) })
    }

    /// Sends a request and returns the answer.
    ///
    /// # Errors
    /// Returns why there is none.
    pub fn ask(&mut self, request: &Request) -> Result<Reply, ClientError> {
        let line = request.write() + "\n";
        let sent = self.reader.get_mut().write_all(line.as_bytes());
        sent.map_err(|why| self.broken(why))?;
        self.next()
    }

    /// Begins to watch; [`Client::next_status`] returns what comes.
    ///
    /// # Errors
    /// Returns why there is nothing to watch.
    pub fn watch(&mut self) -> Result<(), ClientError> {
        let line = Request::Watch.write() + "\n";
        let sent = self.reader.get_mut().write_all(line.as_bytes());
        sent.map_err(|why| self.broken(why))
    }

    /// Waits for the next view of a crawl that is watched.
    ///
    /// # Errors
    /// Returns why there is none any more.
    pub fn next_status(&mut self) -> Result<Status, ClientError> {
        match self.next()? {
            Reply::Status(status) => Ok(*status),
            Reply::Said(Err(refusal)) => Err(self.broken(io::Error::other(refusal.text))),
            Reply::Said(Ok(_)) => Err(self.foreign("an answer instead of a status".to_owned())),
        }
    }

    fn next(&mut self) -> Result<Reply, ClientError> {
        let mut line = String::new();
        let read = (&mut self.reader).take(REPLY_MAX as u64).read_line(&mut line);
        match read {
            Err(why) => Err(self.broken(why)),
            Ok(0) => Err(self.broken(io::Error::other("it closed the connection"))),
            Ok(_) => Reply::read(&line).map_err(|why| self.foreign(why)),
        }
    }

    fn broken(&self, why: io::Error) -> ClientError {
        ClientError::Broken { dir: self.dir.clone(), why }
    }

    fn foreign(&self, why: String) -> ClientError {
        ClientError::Foreign { dir: self.dir.clone(), why }
    }
}
