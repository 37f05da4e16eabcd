//! Why sockets refuse.

use super::sockets::MOST;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Why an address could not be taken.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BindError {
    /// Another socket has it, or has the port for all addresses.
    #[error("{0} is in use: choose another port")]
    InUse(SocketAddr),
    /// Not one of the host's.
    #[error("{0} is not an address of this host: give one of its own, or 0.0.0.0 or ::")]
    NotOurs(IpAddr),
    /// Too many sockets.
    #[error("all {MOST} sockets are in use: close one")]
    Full,
}

/// Why a datagram was not sent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SendError {
    /// The transmit ring is full; later it may go.
    #[error("the transmit ring is full: try again")]
    NoRoom,
    /// The socket has no destination of its own, and none was given.
    #[error("the socket is not connected: connect it, or give a destination")]
    NotConnected,
    /// IPv4 from IPv6 or the reverse, or port 0, or an address nobody can have.
    #[error("this destination cannot be reached from this socket: give one of its own family, with a port")]
    BadDestination,
    /// No route.
    #[error("there is no route to the destination: add one")]
    NoRoute,
    /// Longer than a datagram can be.
    #[error("the datagram is too long: UDP carries at most 65507 bytes over IPv4, 65527 over IPv6")]
    TooLong,
    /// The interface is down.
    #[error("the interface is down")]
    Down,
    /// An earlier datagram was refused there: nobody listens (ICMP port unreachable).
    #[error("nobody listens at the destination")]
    Refused,
    /// An earlier datagram did not get there (ICMP unreachable, or the neighbour is silent).
    #[error("the destination cannot be reached")]
    Unreachable,
    /// No such socket any more.
    #[error("the socket is closed")]
    Closed,
}
