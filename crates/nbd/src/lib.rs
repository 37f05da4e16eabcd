//! NBD after the NBD project's `doc/proto.md`, client and server: fixed newstyle negotiation with GO and EXPORT_NAME,
//! simple and structured replies, FUA, FLUSH, TRIM, WRITE_ZEROES and several connections to one export.
//!
//! Sans-IO: bytes and times are passed in, bytes are handed out. Data is received into the buffer of its operation
//! ([`Server::room`], [`Client::room`]) and sent from there ([`Server::output`], [`Client::output`]), without a copy.
//!
//! Out of scope: system calls, clocks, threads and sockets; TLS, oldstyle negotiation, extended headers and block
//! status.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod client;
mod coverage;
mod negotiation;
mod plan;
mod server;
mod service;
pub mod wire;

pub use client::{CLIENT_SLICES, Client, ClientOptions, Different, InDoubt, Lost, Unfit};
pub use negotiation::{Agreed, Labels, NegotiateError, Negotiation};
pub use server::{CLIENTS, Gone, PATIENCE, SERVER_SLICES, STALL, Server};
pub use service::{BlockService, Export, Exported};
pub use wire::facts::{ExportInfo, Sizes};
