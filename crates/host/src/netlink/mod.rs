//! Netlink (`netlink(7)`, `rtnetlink(7)`): requests and answers, and the requests used: links, routes, driver features.

pub(crate) mod generic;
pub(crate) mod link;
pub(crate) mod message;
pub(crate) mod netdev;
pub(crate) mod path;
mod route;

use crate::sys::netlink::Socket;
use message::{Message, messages, word};
use std::io;
use std::time::{Duration, Instant};

/// Time limit for an answer. The kernel answers within the call; the limit is for kernels that do not.
const PATIENCE: Duration = Duration::from_secs(5);

/// A socket for requests, in the network namespace of the thread that opened it.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens a socket for rtnetlink: links, addresses, neighbours, routes, queueing disciplines.
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self { socket: Socket::open(libc::NETLINK_ROUTE)?, sequence: 0 })
    }

    /// Opens a socket for generic netlink, whose families are found by name.
    pub(crate) fn open_generic() -> io::Result<Self> {
        Ok(Self { socket: Socket::open(libc::NETLINK_GENERIC)?, sequence: 0 })
    }

    /// Sends a request; returns the body of the answer, if there is one besides the acknowledgement.
    pub(crate) fn ask(&mut self, message: Message) -> io::Result<Option<Vec<u8>>> {
        self.bodies(message).map(|mut bodies| bodies.pop())
    }

    /// Sends a request for all objects of a kind; returns the bodies of the answer.
    pub(crate) fn dump(&mut self, message: Message) -> io::Result<Vec<Vec<u8>>> {
        self.bodies(message.for_all())
    }

    fn bodies(&mut self, message: Message) -> io::Result<Vec<Vec<u8>>> {
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.send(&message.finish(self.sequence))?;
        let until = Instant::now() + PATIENCE;
        let mut buffer = vec![0u8; 32 << 10];
        let mut answer = Vec::new();
        while Instant::now() < until {
            let datagram = match self.socket.receive(&mut buffer) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                datagram => datagram?,
            };
            for (kind, sequence, body) in messages(datagram) {
                if sequence != self.sequence {
                    continue;
                }
                if i32::from(kind) == libc::NLMSG_DONE {
                    return Ok(answer);
                }
                if i32::from(kind) == libc::NLMSG_ERROR {
                    let error = word(body, 0).cast_signed();
                    return if error == 0 {
                        Ok(answer)
                    } else {
                        Err(io::Error::from_raw_os_error(error.wrapping_neg()))
                    };
                }
                answer.push(body.to_vec());
            }
        }
        Err(io::Error::from(io::ErrorKind::TimedOut))
    }

    /// Like [`Netlink::ask`], for requests that always have an answer.
    pub(crate) fn answer(&mut self, message: Message) -> io::Result<Vec<u8>> {
        self.ask(message)?.ok_or_else(bad_answer)
    }
}

pub(crate) fn bad_answer() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer makes no sense")
}
