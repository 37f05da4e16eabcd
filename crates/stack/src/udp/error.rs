//! Errors of sockets.

use super::sockets::MOST;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Reason for which an address could not be bound.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BindError {
    /// Another socket is bound to it, or to the port on all addresses.
    #[error("{0} is in use: choose another port")]
    InUse(SocketAddr),
    /// The address is not one of the host's.
    #[error("{0} is not an address of this host: give one of its own, or 0.0.0.0 or ::")]
    NotOurs(IpAddr),
    /// Too many sockets.
    #[error("all {MOST} sockets are in use: close one")]
    Full,
}

/// Reason for which a datagram was not sent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SendError {
    /// The transmit ring is full; a later try may succeed.
    #[error("the transmit ring is full: try again")]
    NoRoom,
    /// The socket is not connected, and no destination was given.
    #[error("the socket is not connected: connect it, or give a destination")]
    NotConnected,
    /// A destination of the other family, with port 0, or with an address that nobody can have.
    #[error("this destination cannot be reached from this socket: give one of its own family, with a port")]
    BadDestination,
    /// No route to the destination.
    #[error("there is no route to the destination: add one")]
    NoRoute,
    /// Longer than the largest datagram.
    #[error("the datagram is too long: UDP carries at most 65507 bytes over IPv4, 65527 over IPv6")]
    TooLong,
    /// The interface is down.
    #[error("the interface is down")]
    Down,
    /// An earlier datagram was refused: nobody listens there (ICMP port unreachable).
    #[error("nobody listens at the destination")]
    Refused,
    /// An earlier datagram did not arrive (ICMP unreachable, or the neighbour did not answer).
    #[error("the destination cannot be reached")]
    Unreachable,
    /// The socket does not exist any more.
    #[error("the socket is closed")]
    Closed,
}
