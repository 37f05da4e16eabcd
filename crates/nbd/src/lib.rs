//! NBD as the NBD project's `doc/proto.md` has it, client and server: fixed newstyle negotiation with GO and EXPORT_NAME,
//! simple and structured replies, FUA, FLUSH, TRIM, WRITE_ZEROES and several connections to one export.
//!
//! Sans-IO: bytes and times are passed in, bytes are handed out. What comes is received where it belongs
//! ([`Server::room`], [`Client::room`]), what leaves is sent from where it lies ([`Server::output`], [`Client::output`]): data
//! lies in the buffer of its operation, and is not copied on the way.
//!
//! Out of scope: it makes no system call, reads no clock, starts no thread and knows no socket; no TLS, no
//! oldstyle, no extended headers, no block status.

#![forbid(unsafe_code)]

mod client;
mod coverage;
mod negotiation;
mod plan;
mod server;
mod service;
pub mod wire;

pub use client::{CLIENT_SLICES, Client, ClientOptions, Lost, Unfit};
pub use negotiation::{Agreed, NegotiateError, Negotiation};
pub use server::{CLIENTS, Gone, PATIENCE, SERVER_SLICES, STALL, Server};
pub use service::{BlockService, Export, Exported};
pub use wire::facts::{ExportInfo, Sizes};
