//! Closes descriptors that other processes handed over, on threads that nobody waits for.
//!
//! The last close of a file may take as long as its maker likes: a TCP socket that lingers, a file of a FUSE server, a
//! UNIX socket with such descriptors in its queue. So a [`Foreign`] descriptor is closed by a thread that does nothing
//! else. A blocked thread delays no other close as long as fewer than [`MOST`] are blocked.

use super::message;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// Most threads that close at a time.
const MOST: usize = 32;

/// A descriptor that another process handed over, or whose queue another process fills; dropping it never blocks.
#[derive(Debug)]
pub struct Foreign(Option<OwnedFd>);

impl Foreign {
    /// The descriptor itself, once its kind is known to be one that closes at once.
    #[must_use]
    pub fn trusted(mut self) -> OwnedFd {
        self.0.take().expect("there until it is dropped")
    }
}

impl From<OwnedFd> for Foreign {
    fn from(fd: OwnedFd) -> Self {
        Self(Some(fd))
    }
}

impl AsFd for Foreign {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_ref().expect("there until it is dropped").as_fd()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(fd) = self.0.take() {
            close_aside(fd);
        }
    }
}

struct Closing {
    waiting: Vec<OwnedFd>,
    threads: usize,
}

static CLOSING: Mutex<Closing> = Mutex::new(Closing { waiting: Vec::new(), threads: 0 });

fn close_aside(fd: OwnedFd) {
    let mut closing = CLOSING.lock().unwrap_or_else(PoisonError::into_inner);
    closing.waiting.push(fd);
    // If no thread can be started, the descriptor waits for the next one: a descriptor kept longer blocks nobody.
    if closing.threads < MOST && std::thread::Builder::new().name("close".into()).spawn(close_all).is_ok() {
        closing.threads += 1;
    }
}

fn close_all() {
    loop {
        let mut closing = CLOSING.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(fd) = closing.waiting.pop() else {
            closing.threads -= 1;
            return;
        };
        drop(closing);
        // Descriptors in its queue come back here, each by itself.
        message::empty(&fd);
        message::linger_not(&fd);
        drop(fd);
    }
}
