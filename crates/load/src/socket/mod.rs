//! Sockets of loads: the kernel's, or those of a host of our own; names and addresses, and options that the standard
//! library has not.
//!
//! A load asks its [`Site`] for sockets and does not know whose they are, but for options that only the kernel has.

mod either;
mod flow;
mod options;
mod pace;
mod page;
mod pair;
mod path;
mod place;
mod polled;
mod site;
pub(crate) mod sys;
mod tcp;
mod udp;
mod uplink;

pub(crate) use either::Socket;
pub use either::Transport;
pub use flow::{acknowledges, connect_from};
pub(crate) use options::{Options, Refused, Sizes, given};
pub(crate) use pace::Pace;
pub(crate) use page::PageAligned;
pub(crate) use pair::{Pair, Via};
pub(crate) use path::{Ends, Path};
pub use place::{Family, Place};
pub(crate) use place::{addresses, any, open, plain};
pub(crate) use polled::Got;
pub use site::Own;
pub(crate) use site::Site;
pub use sys::{Handshake, handshake};
pub(crate) use tcp::{TcpListener, TcpStream, algorithm, rest};
pub(crate) use udp::UdpSocket;
pub(crate) use uplink::{Uplink, Wire, peer};

use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// True for the error of a call that has returned to look up: it has moved nothing.
pub(crate) fn is_tick(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Number of the next socket of our own. The first ones of the kernel's are those of the terminal and of the control
/// connection.
static NEXT: AtomicI32 = AtomicI32::new(4);

/// A number for a socket of our own.
pub(crate) fn number() -> i32 {
    NEXT.fetch_add(1, Relaxed)
}
