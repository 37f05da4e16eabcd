//! Netlink (`netlink(7)`, `rtnetlink(7)`): requests and answers, and the requests used: links, routes, driver features.

pub(crate) mod generic;
pub(crate) mod link;
pub(crate) mod message;
pub(crate) mod netdev;
pub(crate) mod path;
mod route;

use crate::absent::{Absent, Part};
use crate::sys::netlink::Socket;
use message::{Message, attribute, messages, text, word};
use std::io;
use std::time::{Duration, Instant};

/// Time limit for an answer. The kernel answers within the call; the limit is for kernels that do not.
const PATIENCE: Duration = Duration::from_secs(5);

/// Room for a datagram: the kernel makes those of lists no larger than 32 KiB, and single answers as large as they are.
const ROOM: usize = 256 << 10;
/// Attempts at a list that others change while it is read.
const ATTEMPTS: usize = 4;

// linux/netlink.h
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLMSGERR_ATTR_MSG: u16 = 1;

/// A socket for requests, in the network namespace of the thread that opened it.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

/// Bodies of the answers to a request.
struct Answers {
    bodies: Vec<Vec<u8>>,
    /// The list changed while it was read.
    torn: bool,
}

impl Netlink {
    /// Opens a socket for rtnetlink: links, addresses, neighbours, routes, queueing disciplines.
    pub(crate) fn open() -> io::Result<Self> {
        Self::of(libc::NETLINK_ROUTE)
    }

    /// Opens a socket for generic netlink, whose families are found by name.
    pub(crate) fn open_generic() -> io::Result<Self> {
        Self::of(libc::NETLINK_GENERIC)
    }

    /// Opens a socket for netfilter: tables of the packet filter.
    pub(crate) fn open_netfilter() -> io::Result<Self> {
        Self::of(libc::NETLINK_NETFILTER)
    }

    fn of(protocol: libc::c_int) -> io::Result<Self> {
        Ok(Self { socket: Socket::open(protocol)?, sequence: 0, buffer: vec![0; ROOM] })
    }

    /// Sends a request; returns the body of the answer, if there is one besides the acknowledgement.
    pub(crate) fn ask(&mut self, message: Message) -> io::Result<Option<Vec<u8>>> {
        Ok(self.ask_words(message)?)
    }

    /// Like [`Netlink::ask`], with what the kernel says when it refuses.
    pub(crate) fn ask_words(&mut self, message: Message) -> Part<Option<Vec<u8>>> {
        Ok(self.exchange(message)?.bodies.pop())
    }

    /// Like [`Netlink::ask`], for requests that always have an answer.
    pub(crate) fn answer(&mut self, message: Message) -> io::Result<Vec<u8>> {
        self.ask(message)?.ok_or_else(bad_answer)
    }

    /// Asks for all objects of a kind. A list that others changed meanwhile is read again, a few times.
    pub(crate) fn list(&mut self, request: impl Fn() -> Message) -> Part<Vec<Vec<u8>>> {
        let mut attempt = 1;
        loop {
            let mut message = request();
            message.of_all();
            let answers = self.exchange(message)?;
            if !answers.torn || attempt == ATTEMPTS {
                return Ok(answers.bodies);
            }
            attempt += 1;
        }
    }

    fn exchange(&mut self, message: Message) -> Part<Answers> {
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.send(&message.finish(self.sequence))?;
        let until = Instant::now() + PATIENCE;
        let mut answers = Answers { bodies: Vec::new(), torn: false };
        while Instant::now() < until {
            let datagram = match self.socket.receive(&mut self.buffer) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                datagram => datagram?,
            };
            for heard in messages(datagram).filter(|heard| heard.sequence == self.sequence) {
                answers.torn |= heard.flags & NLM_F_DUMP_INTR != 0;
                let header = match i32::from(heard.kind) {
                    // Behind the number: the request's header, or nothing.
                    libc::NLMSG_ERROR => 4 + message::HEADER,
                    libc::NLMSG_DONE => 4,
                    libc::NLMSG_NOOP | libc::NLMSG_OVERRUN => continue,
                    _ => {
                        answers.bodies.push(heard.body.to_vec());
                        continue;
                    }
                };
                let error = word(heard.body, 0).cast_signed();
                if error >= 0 {
                    return Ok(answers);
                }
                let words = heard.body.get(header..).filter(|_| heard.flags & NLM_F_ACK_TLVS != 0);
                let said = words.and_then(|words| attribute(words, NLMSGERR_ATTR_MSG)).map(text);
                return Err(Absent::new(error.wrapping_neg(), said.as_deref()));
            }
        }
        Err(io::Error::from(io::ErrorKind::TimedOut).into())
    }
}

pub(crate) fn bad_answer() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer makes no sense")
}
