//! The task that owns the open file, and the handle by which captures reach it.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{self, JoinHandle};

use super::capture::{Capture, DnsCapture};
use super::disk::{FileSystem, Medium};
use super::encode::{Encoded, Encoder, Item};
use super::open::{Opened, open};
use super::writer::{CurrentInfo, Writer, Written};
use super::{About, ArchiveError, Position, Settings, SyncPolicy};

/// Captures that wait for the writer; a visit that finds the channel full waits with its lease.
const WAITING_MAX: usize = 64;

/// Below this, encoding holds the thread of a visit for no longer than reading the page did.
const INLINE_BYTES_MAX: usize = 256 * 1024;

/// Gives captures to the archive; cheap to clone.
#[derive(Clone, Debug)]
pub struct Archive {
    inbox: mpsc::Sender<Message>,
    encoder: Encoder,
    info: CurrentInfo,
}

#[derive(Debug)]
enum Message {
    Write {
        item: Item,
        encoded: Box<Encoded>,
        reply: oneshot::Sender<Result<Written, ArchiveError>>,
    },
    Sync {
        reply: oneshot::Sender<Result<(), ArchiveError>>,
    },
    Close {
        committed: Option<Position>,
        reply: oneshot::Sender<Result<(), ArchiveError>>,
    },
}

impl Archive {
    /// Opens the archive in `settings.dir`, mends what a crash left, and starts the writing task.
    ///
    /// `resume` is the greatest position that the state committed; `None` is for a new state. Must
    /// be called within a tokio runtime; it blocks for as long as mending takes.
    ///
    /// # Errors
    /// [`ArchiveError::Missing`] and [`ArchiveError::Short`] if the archive lacks what the state
    /// committed; otherwise what the operating system refused.
    pub fn open(
        settings: Settings,
        about: About,
        resume: Option<&Position>,
    ) -> Result<(Archive, Opened), ArchiveError> {
        Self::open_on(settings, about, resume, Box::new(FileSystem))
    }

    pub(super) fn open_on(
        settings: Settings,
        about: About,
        resume: Option<&Position>,
        medium: Box<dyn Medium>,
    ) -> Result<(Archive, Opened), ArchiveError> {
        let (writer, opened) = open(settings, about, resume, medium)?;
        let (encoder, info) = (writer.encoder.clone(), writer.info.clone());
        let (inbox, messages) = mpsc::channel(WAITING_MAX);
        task::spawn(run(writer, messages));
        Ok((Archive { inbox, encoder, info }, opened))
    }

    /// Writes the records of a visit and returns where they are.
    ///
    /// They survive a kill of the process from then on, and a power cut as the sync policy says. A
    /// dropped call may still write.
    ///
    /// # Errors
    /// After an error for which [`ArchiveError::is_full`] holds, nothing of the capture is in the
    /// archive, and the same capture can be given again when there is room.
    pub async fn write(&self, capture: Arc<Capture>) -> Result<Written, ArchiveError> {
        self.write_item(Item::Visit(capture)).await
    }

    /// Writes the answer of a name server as a resource record.
    ///
    /// # Errors
    /// As [`Archive::write`].
    pub async fn write_dns(&self, dns: Arc<DnsCapture>) -> Result<Written, ArchiveError> {
        self.write_item(Item::Dns(dns)).await
    }

    /// Forces everything written so far to the disk, as before a durable checkpoint of the state.
    ///
    /// # Errors
    /// What the operating system refused.
    pub async fn sync(&self) -> Result<(), ArchiveError> {
        self.ask(|reply| Message::Sync { reply }).await
    }

    /// Finishes the open file and ends the task; every other handle is of no more use.
    ///
    /// # Errors
    /// What the operating system refused; the file then keeps its `.open` name and is mended by the
    /// next [`Archive::open`].
    pub async fn close(&self) -> Result<(), ArchiveError> {
        self.ask(|reply| Message::Close { committed: None, reply }).await
    }

    /// Does the same at the end of a run, for which the state committed this position: what was
    /// written behind it, and whose visits were not settled, is cut off before the file gets its
    /// lasting name.
    ///
    /// # Errors
    /// As [`Archive::close`].
    pub async fn close_at(&self, committed: Position) -> Result<(), ArchiveError> {
        self.ask(|reply| Message::Close { committed: Some(committed), reply }).await
    }

    async fn write_item(&self, item: Item) -> Result<Written, ArchiveError> {
        let info = self.info.get();
        let encoded = if item.weight() <= INLINE_BYTES_MAX {
            self.encoder.encode(&item, info)
        } else {
            let (encoder, item) = (self.encoder.clone(), item.clone());
            task::spawn_blocking(move || encoder.encode(&item, info)).await.map_err(stopped)?
        };
        let encoded = Box::new(encoded);
        self.ask(|reply| Message::Write { item, encoded, reply }).await
    }

    async fn ask<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<Result<T, ArchiveError>>) -> Message,
    ) -> Result<T, ArchiveError> {
        let (reply, answer) = oneshot::channel();
        self.inbox.send(message(reply)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

fn closed() -> ArchiveError {
    ArchiveError::Stopped("it is closed".to_owned())
}

fn stopped(error: task::JoinError) -> ArchiveError {
    ArchiveError::Stopped(error.to_string())
}

/// Appends until closed. Each round writes all that waits, so that they can share one sync.
async fn run(mut writer: Writer, mut messages: mpsc::Receiver<Message>) {
    let policy = writer.settings.sync;
    let interval = writer.settings.sync_interval.get();
    let mut round = Vec::with_capacity(WAITING_MAX);
    let mut unforced: Option<std::pin::Pin<Box<tokio::time::Sleep>>> = None;
    loop {
        let due = async {
            match &mut unforced {
                Some(sleep) => sleep.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = due => {
                unforced = None;
                // Not fatal: the next write or the end of the file meets the same error again.
                let synced = task::spawn_blocking(move || {
                    let done = writer.sync();
                    (writer, done)
                });
                let Ok((back, done)) = synced.await else { return };
                writer = back;
                if let Err(error) = done {
                    tracing::warn!(%error, "failed to sync the archive");
                }
            }
            count = messages.recv_many(&mut round, WAITING_MAX) => {
                let closing = count == 0;
                let batch = std::mem::take(&mut round);
                let worked = work(writer, batch, closing);
                let Some((back, is_closed)) = worked.await else { return };
                writer = back;
                if is_closed {
                    return;
                }
                let is_dirty = writer.open.as_ref().is_some_and(|open| open.dirty);
                if !is_dirty {
                    unforced = None;
                } else if policy == SyncPolicy::Interval && unforced.is_none() {
                    unforced = Some(Box::pin(tokio::time::sleep(interval)));
                }
            }
        }
    }
}

/// Does one round on a thread that may block; `None` if it panicked.
async fn work(writer: Writer, round: Vec<Message>, closing: bool) -> Option<(Writer, bool)> {
    let blocking: JoinHandle<_> = task::spawn_blocking(move || {
        let mut writer = writer;
        let is_closed = work_now(&mut writer, round);
        if closing && let Err(error) = writer.finish() {
            tracing::warn!(%error, "failed to finish the archive");
        }
        (writer, is_closed || closing)
    });
    blocking.await.ok()
}

fn work_now(writer: &mut Writer, round: Vec<Message>) -> bool {
    let mut written = Vec::with_capacity(round.len());
    let mut is_closed = false;
    for message in round {
        match message {
            Message::Write { item, encoded, reply } => {
                written.push((reply, writer.write(&item, *encoded)));
            }
            Message::Sync { reply } => {
                // Whoever no longer waits for the answer does not need it.
                let _ = reply.send(writer.sync());
            }
            Message::Close { committed, reply } => {
                let done = match &committed {
                    Some(committed) => writer.finish_at(committed),
                    None => writer.finish(),
                };
                is_closed |= done.is_ok();
                let _ = reply.send(done);
                if is_closed {
                    break;
                }
            }
        }
    }
    answer(writer, written);
    is_closed
}

type Waiting = (oneshot::Sender<Result<Written, ArchiveError>>, Result<Written, ArchiveError>);

fn answer(writer: &mut Writer, written: Vec<Waiting>) {
    let forced = match writer.settings.sync {
        SyncPolicy::Record => writer.sync(),
        SyncPolicy::Close | SyncPolicy::Interval => Ok(()),
    };
    for (reply, result) in written {
        let result = match &forced {
            Ok(()) => result,
            Err(error) => result.and(Err(ArchiveError::Stopped(error.to_string()))),
        };
        let _ = reply.send(result);
    }
}
