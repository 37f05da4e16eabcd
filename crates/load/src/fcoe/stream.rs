//! The file of a copy, read or written by a thread of its own: pipes and disks may make it wait as long as they like, the
//! node goes on with its beacons, and a signal ends the copy.

use linerate_block::Buffer;
use linerate_port::{Interest, Sleep};
use linerate_rt::{Sleeper, spawn};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

/// Pieces that have been read and are not taken yet.
const AHEAD: usize = 4;

/// Tells a loop that a thread has got on.
struct Bell(UnixStream);

impl Bell {
    /// Its two ends: one rings, the other is slept on.
    fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = UnixStream::pair()?;
        a.set_nonblocking(true)?;
        b.set_nonblocking(true)?;
        Ok((Self(a), Self(b)))
    }

    fn ring(&mut self) {
        // A socket that is full rings already.
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

/// An input, a piece after the other.
pub(super) struct Source {
    pieces: Receiver<io::Result<Buffer>>,
    bell: Bell,
}

/// What an input has now.
pub(super) enum Taken {
    /// Nothing yet.
    Nothing,
    /// These octets, which are fewer than a piece at its end.
    Piece(Buffer),
    /// No more.
    End,
}

impl Source {
    /// Reads on in pieces of so many octets, to its end or until so many octets have been read in all.
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
                // Nobody may want it any more. An empty piece says no more than the end does.
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

    /// The next piece.
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

/// Reads a whole piece, or what there is until the end.
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

/// An output.
pub(super) struct Sink {
    to: SyncSender<Buffer>,
    written: Receiver<io::Result<usize>>,
    bell: Bell,
    behind: usize,
}

impl Sink {
    /// Writes what it is given, at most so many pieces of which wait.
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

    /// Pieces that were given and are not written.
    pub(super) fn behind(&self) -> usize {
        self.behind
    }

    /// Gives a piece. The caller sees to it that no more than was said wait.
    pub(super) fn give(&mut self, piece: Buffer) {
        // A thread that has ended has left its error behind, which `written` finds.
        if self.to.try_send(piece).is_ok() {
            self.behind += 1;
        }
    }

    /// How many octets of the next piece have been written; none if that has not happened yet.
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
