//! Checks of a client's request against the limits of the server.

use crate::netperf::fault::Fault;
use crate::netperf::protocol::Malformed;
use crate::netperf::protocol::omni::{Half, Request, direction, flag, kind};
use crate::netperf::ring::{BLOCK, Layout};
use crate::netperf::settings::DATAGRAM;
use crate::netperf::socket::service;
use crate::socket::{Options, Sizes};

/// Moving data in one way, from the server's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Bytes come.
    Receive,
    /// Bytes go.
    Send,
    /// Requests come, and responses go.
    Answer,
    /// The same with a connection for each.
    AnswerByConnections,
    ReceiveDatagrams,
    /// Requests and responses are datagrams.
    AnswerDatagrams,
}

#[derive(Clone, Debug)]
pub(super) struct Accepted {
    pub(super) task: Task,
    pub(super) wanted: Options,
    pub(super) send: Layout,
    pub(super) receive: Layout,
}

/// Sizes of blocks, and how many take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) size: u32,
    pub(super) width: u32,
}

impl Task {
    pub(super) fn is_udp(self) -> bool {
        matches!(self, Self::ReceiveDatagrams | Self::AnswerDatagrams)
    }

    pub(super) fn sends(self) -> bool {
        !matches!(self, Self::Receive | Self::ReceiveDatagrams)
    }

    pub(super) fn receives(self) -> bool {
        self != Self::Send
    }
}

fn task(r: &Request) -> Result<Task, Fault> {
    let both = direction::SEND | direction::RECEIVE;
    let connects = r.flags & flag::CONNECT != 0;
    match (r.protocol, r.socket_type, r.direction, connects) {
        (kind::TCP, kind::STREAM, direction::RECEIVE, false) => Ok(Task::Receive),
        (kind::TCP, kind::STREAM, direction::SEND, false) => Ok(Task::Send),
        (kind::TCP, kind::STREAM, d, false) if d == both => Ok(Task::Answer),
        (kind::TCP, kind::STREAM, d, true) if d == both => Ok(Task::AnswerByConnections),
        (kind::UDP, kind::DATAGRAM, direction::RECEIVE, false) => Ok(Task::ReceiveDatagrams),
        (kind::UDP, kind::DATAGRAM, d, false) if d == both => Ok(Task::AnswerDatagrams),
        (kind::UDP, kind::DATAGRAM, direction::SEND, _) => Err(Fault::NotBuilt("datagrams from the server")),
        (kind::TCP, kind::STREAM, 0, true) => Err(Fault::NotBuilt("connections without data")),
        (kind::TCP | kind::UDP, kind::STREAM | kind::DATAGRAM, ..) => Err(Fault::NotBuilt("data in these directions")),
        _ => Err(Fault::NotBuilt("a protocol that is neither TCP nor UDP")),
    }
}

fn layout(half: &Half) -> Result<Layout, Fault> {
    let layout = Layout { align: half.align.max(1), offset: half.offset, width: half.width };
    if layout.is_possible() { Ok(layout) } else { Err(Malformed::Range("the alignment of the memory").into()) }
}

impl Accepted {
    pub(super) fn new(r: &Request) -> Result<Self, Fault> {
        let task = task(r)?;
        let refused = [
            (!r.fill.is_empty(), "a file of the server in its buffers"),
            (r.flags & flag::FAST_OPEN != 0, "data in the segment that opens a connection"),
            (r.flags & flag::PACKET_INFO != 0, "addresses of datagrams from packets"),
            (r.flags & flag::DEFER_ACCEPT != 0, "connections that are taken in with their first data"),
        ];
        if let Some((_, what)) = refused.iter().find(|(asked, _)| *asked) {
            return Err(Fault::NotBuilt(what));
        }
        if matches!(task, Task::Answer | Task::AnswerByConnections | Task::AnswerDatagrams)
            && (r.send.transaction.is_none() || r.receive.transaction.is_none())
        {
            return Err(Malformed::Range("the size of a request or a response").into());
        }
        let most = if task.is_udp() { DATAGRAM } else { BLOCK };
        for half in [&r.send, &r.receive] {
            let sizes = [half.block.filter(|_| !task.is_udp()), half.transaction];
            if sizes.into_iter().flatten().any(|size| size > most) || half.block.is_some_and(|size| size > BLOCK) {
                return Err(Malformed::Range("a size").into());
            }
        }
        let wanted = Options {
            send: r.send.socket.map(u64::from),
            receive: r.receive.socket.map(u64::from),
            no_delay: r.flags & flag::NO_DELAY != 0,
            keep_alive: r.flags & flag::KEEP_ALIVE != 0,
            no_gateway: r.flags & flag::ROUTING == 0,
            priority: r.priority.map(u64::from),
            service: r.tos.map(|tos| service(tos, !task.is_udp())),
            congestion: Some(r.congestion.clone()).filter(|name| !name.is_empty()),
            ..Options::default()
        };
        Ok(Self { task, wanted, send: layout(&r.send)?, receive: layout(&r.receive)? })
    }

    /// Blocks to send from and to receive to, for a socket with these buffers. What is received is the request, whose
    /// size stands beside what is sent.
    pub(super) fn blocks(&self, r: &Request, socket: Sizes) -> (Option<Blocks>, Option<Blocks>) {
        let blocks = |layout: &Layout, transaction: Option<u32>, block: Option<u32>, buffer: u32| match transaction {
            Some(size) => Blocks { size, width: layout.width.max(1) },
            None => {
                let size = block.unwrap_or(buffer).min(BLOCK);
                Blocks { size, width: layout.width(buffer, size) }
            }
        };
        let transactions = self.task.sends() && self.task.receives();
        let of = |half: &Half| half.transaction.filter(|_| transactions);
        let send = blocks(&self.send, of(&r.receive), r.send.block, socket.send);
        let receive = blocks(&self.receive, of(&r.send), r.receive.block, socket.receive);
        (Some(send).filter(|_| self.task.sends()), Some(receive).filter(|_| self.task.receives()))
    }
}
