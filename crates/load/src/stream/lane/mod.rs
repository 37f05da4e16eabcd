//! Lanes: a thread for each stream, which moves its data by blocking calls and counts them.
//!
//! A lane allocates before its first byte and not after. It ends when it is told to (`Shared::done`), which it sees
//! between two calls; whoever tells it wakes it out of a call by shutting its socket down.

mod counters;
mod payload;
mod shared;
mod tcp;
mod udp;

pub(super) use counters::{Counters, Counts};
pub(super) use payload::Payload;
pub(super) use shared::{Limit, Shared};

use super::fault::Fault;
use super::settings::Settings;
use crate::socket::Socket;
use crate::team::{Member, Team};
use linerate_rt::ThreadTime;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Socket to come.
pub(super) type Next = Arc<Mutex<Option<Arc<Socket>>>>;

pub(super) struct Job {
    pub(super) socket: Arc<Socket>,
    /// Socket that takes the place of the other, which is shut down then: datagrams only.
    pub(super) next: Next,
    pub(super) sends: bool,
    pub(super) counters: Arc<Counters>,
    pub(super) shared: Arc<Shared>,
    pub(super) settings: Arc<Settings>,
    pub(super) payload: Arc<Payload>,
    /// File that is sent, or written to.
    pub(super) file: Option<PathBuf>,
}

/// Starts a lane, which returns its processor time.
pub(super) fn start(lanes: &mut Team<ThreadTime>, job: Job) -> io::Result<()> {
    lanes.add(if job.sends { "stream-send" } else { "stream-receive" }, &[], move |member: &mut Member| {
        member.begin();
        let before = ThreadTime::of_this_thread();
        let result = job.run();
        job.shared.left(job.sends, result.err());
        ThreadTime::of_this_thread().since(before)
    })
}

impl Job {
    fn run(&self) -> Result<(), Fault> {
        match (&*self.socket, self.sends) {
            (Socket::Tcp(stream), true) => self.send_tcp(stream),
            (Socket::Tcp(stream), false) => self.receive_tcp(stream),
            (Socket::Udp(socket), true) => self.send_udp(socket),
            (Socket::Udp(socket), false) => self.receive_udp(socket),
        }
    }

    /// Socket that takes the place of the one that has been shut down.
    fn next(&self) -> Option<Arc<Socket>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// True if this fault is no more than the end of the test.
    fn is_over(&self, fault: Fault) -> Result<(), Fault> {
        if self.shared.is_done(self.sends) { Ok(()) } else { Err(fault) }
    }
}
