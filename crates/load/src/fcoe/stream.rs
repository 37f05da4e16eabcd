//! The file of a copy, read or written by a thread of its own: when a pipe or disk blocks that thread, the node still
//! sends its beacons, and a signal ends the copy.

use linerate_block::Buffer;
use linerate_port::{Interest, Sleep};
use linerate_rt::{Sleeper, spawn};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

/// Number of pieces that are read ahead.
const AHEAD: usize = 4;

/// Wakes a loop when a thread has made progress.
struct Bell(UnixStream);

impl Bell {
    /// Makes its two ends: one to ring, the other to sleep on.
    fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = UnixStream::pair()?;
        a.set_nonblocking(true)?;
        b.set_nonblocking(true)?;
        Ok((Self(a), Self(b)))
    }

    fn ring(&mut self) {
        // A full socket rings already.
        let _ = self.0.write(&[0]);
    }
}

impl Sleeper for Bell {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        Some(Sleep::on(self.0.as_fd(), Interest::Readable))
    }

    fn wake_up(&mut self) {
        while self.0.read(&mut [0; 64]).is_ok_and(|n| n > 0) {}
    }
}

/// An input, read piece by piece.
pub(super) struct Source {
    pieces: Receiver<io::Result<Buffer>>,
    bell: Bell,
}

/// State of an input.
pub(super) enum Taken {
    /// No data yet.
    Nothing,
    /// Next bytes; fewer than a piece at the end of the input.
    Piece(Buffer),
    End,
}

impl Source {
    /// Starts to read in pieces of `piece` bytes, to the end or until `limit` bytes have been read.
    pub(super) fn begin(file: File, piece: usize, limit: Option<u64>) -> io::Result<Self> {
        let (to, pieces) = sync_channel(AHEAD);
        let (mut ringer, bell) = Bell::pair()?;
        let mut file: Box<dyn Read + Send> = match limit {
            Some(limit) => Box::new(file.take(limit)),
            None => Box::new(file),
        };
        spawn("copy-in", &[], move || {
            loop {
                let read = fill(&mut file, piece);
                let last = read.as_ref().map_or(true, |buffer| buffer.len() < piece);
                // The receiver may be gone. An empty piece is not sent, since the end follows.
                if !read.as_ref().is_ok_and(|buffer| buffer.is_empty()) && to.send(read).is_err() || last {
                    break;
                }
                ringer.ring();
            }
            drop(to);
            ringer.ring();
        })?;
        Ok(Self { pieces, bell })
    }

    /// Takes the next piece.
    pub(super) fn take(&mut self) -> io::Result<Taken> {
        match self.pieces.try_recv() {
            Ok(piece) => piece.map(Taken::Piece),
            Err(TryRecvError::Empty) => Ok(Taken::Nothing),
            Err(TryRecvError::Disconnected) => Ok(Taken::End),
        }
    }

    pub(super) fn bell(&mut self) -> &mut dyn Sleeper {
        &mut self.bell
    }
}

/// Reads a whole piece, or the rest up to the end.
fn fill(from: &mut dyn Read, piece: usize) -> io::Result<Buffer> {
    let (mut buffer, mut all) = (Buffer::new(piece), 0);
    while all < piece {
        match from.read(&mut buffer.bytes_mut()[all..]) {
            Ok(0) => break,
            Ok(n) => all += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    buffer.resize(all);
    Ok(buffer)
}

pub(super) struct Sink {
    to: SyncSender<Buffer>,
    written: Receiver<io::Result<usize>>,
    bell: Bell,
    behind: usize,
}

impl Sink {
    /// Starts to write the pieces that it is given, of which at most `most` wait.
    pub(super) fn begin(mut file: File, most: usize) -> io::Result<Self> {
        let (to, pieces) = sync_channel::<Buffer>(most);
        let (tell, written) = sync_channel(most);
        let (mut ringer, bell) = Bell::pair()?;
        spawn("copy-out", &[], move || {
            for piece in pieces {
                let result = file.write_all(piece.bytes()).map(|()| piece.len());
                let failed = result.is_err();
                if tell.send(result).is_err() || failed {
                    break;
                }
                ringer.ring();
            }
            drop(tell);
            ringer.ring();
        })?;
        Ok(Self { to, written, bell, behind: 0 })
    }

    /// Number of pieces that were given and are not written yet.
    pub(super) fn behind(&self) -> usize {
        self.behind
    }

    /// Gives a piece. The caller ensures that no more than `most` pieces wait.
    pub(super) fn give(&mut self, piece: Buffer) {
        // A thread that has ended has left its error behind, which `written` returns.
        if self.to.try_send(piece).is_ok() {
            self.behind += 1;
        }
    }

    /// Number of bytes of the next piece, once it is written; `None` before that.
    pub(super) fn written(&mut self) -> io::Result<Option<usize>> {
        match self.written.try_recv() {
            Ok(result) => {
                self.behind = self.behind.saturating_sub(1);
                result.map(Some)
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(super) fn bell(&mut self) -> &mut dyn Sleeper {
        &mut self.bell
    }
}
