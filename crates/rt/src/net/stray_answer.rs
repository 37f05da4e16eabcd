//! Connections that a host of several queues makes: one shard calls, and the answer may come to another, which then has it.

use super::gate::Gate;
use super::running::Net;
use super::tcp::Connecting;
use super::udp::as_io;
use crate::monotonic_ns;
use linerate_stack::tcp::{TcpId, TcpStray};
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Segments that are kept for a connection until it is moved: who answers data of SYN (Fast Open) sends more than one.
const KEPT: usize = 16;

/// Attempts to find a port that no shard has in use.
const ATTEMPTS: usize = 64;

/// Answer that has come to a shard which does not have the connection.
#[derive(Default)]
pub(super) struct StrayAnswer {
    gate: Arc<Gate>,
    /// The queue by which each segment came, and the segment.
    answer: Mutex<Vec<(usize, TcpStray)>>,
}

impl StrayAnswer {
    /// Notes the answer; gives the gate that is to be opened.
    pub(super) fn heard(&self, queue: usize, stray: TcpStray) -> Arc<Gate> {
        let mut answer = self.lock();
        if answer.len() < KEPT {
            answer.push((queue, stray));
        }
        self.gate.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(usize, TcpStray)>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is being made, and the shards that expect its answer until this is dropped.
pub(super) struct Hailing<'a> {
    net: &'a Net,
    stray_answer: Arc<StrayAnswer>,
    ends: (SocketAddr, SocketAddr),
    /// The queue whose shard has it, and its identifier there.
    pub(super) place: (usize, TcpId),
    /// Bytes that were taken to be sent.
    pub(super) taken: usize,
}

impl<'a> Hailing<'a> {
    /// Begins a connection by one of the queues; with bytes by Fast Open.
    pub(super) fn begin(
        net: &'a Net,
        queue: usize,
        remote: SocketAddr,
        (how, bytes): (&Connecting, Option<&[u8]>),
        gate: &Arc<Gate>,
    ) -> Result<Self> {
        let stray_answer = Arc::new(StrayAnswer { gate: gate.clone(), answer: Mutex::default() });
        for _ in 0..ATTEMPTS {
            let local = net.queue(queue).shard().ip.host.tcp_local(monotonic_ns(), how.port, remote).map_err(as_io)?;
            let ends = (local, remote);
            // In all shards, this one too, and in the same order by all who connect at the same moment: one of them is first.
            // Where it is taken, another connection that is being made may have it: that one's shards go on expecting.
            let taken = (0..net.queues()).find(|at| !net.queue(*at).shard().expect(ends, &stray_answer));
            if let Some(taken) = taken {
                (0..taken).for_each(|at| net.queue(at).shard().expect_no_more(ends));
                continue;
            }
            let made = net.queue(queue).talk(|shard| {
                let now = shard.now();
                let host = &mut shard.ip.host;
                let (id, taken) = host.tcp_connect_as(now, Some(local), remote, how.opening, bytes)?;
                shard.watch(id, gate.clone());
                Ok((id, taken))
            });
            return match made {
                Ok((id, taken)) => Ok(Self { net, stray_answer, ends, place: (queue, id), taken }),
                Err(error) => {
                    (0..net.queues()).for_each(|at| net.queue(at).shard().expect_no_more(ends));
                    Err(as_io(error))
                }
            };
        }
        let why = if how.port > 0 {
            "the own port has such a connection"
        } else {
            "no port is free in all shards of the host"
        };
        Err(Error::new(ErrorKind::AddrInUse, why))
    }

    /// Moves the connection to the shard that has got the answer, if that is another one.
    pub(super) fn follow(&mut self) {
        let Some(to) = self.stray_answer.lock().first().map(|(queue, _)| *queue) else { return };
        let (from, id) = self.place;
        let mut shard = self.net.queue(from).shard();
        shard.unwatch(id);
        let moving = shard.ip.host.tcp_take_out(id);
        drop(shard);
        let moved = self.net.queue(to).talk(|shard| {
            let now = shard.now();
            // Whoever has this shard brings no more of them, and from now on they go to the connection.
            let answers = std::mem::take(&mut *self.stray_answer.lock());
            let strays: Vec<_> = answers.into_iter().filter(|(by, _)| *by == to).map(|(_, stray)| stray).collect();
            let id = shard.ip.host.tcp_put_in(now, moving?, &strays)?;
            shard.watch(id, self.stray_answer.gate.clone());
            Some(id)
        });
        if let Some(id) = moved {
            self.place = (to, id);
        }
    }
}

impl Drop for Hailing<'_> {
    fn drop(&mut self) {
        (0..self.net.queues()).for_each(|at| self.net.queue(at).shard().expect_no_more(self.ends));
    }
}
