//! iperf3's protocol, without sockets: states, cookies, messages, parameters, logins, results, datagrams.
//!
//! A control connection begins with the client's cookie; then each side sends states, one byte each, and at two of them
//! JSON behind its length. Whatever a peer says is refused or understood here; nothing grows beyond a limit that the
//! caller gives.

mod cookie;
mod datagram;
mod login;
mod message;
mod parameters;
mod results;
mod state;
mod value;

pub use crate::sequence::Receipt;
pub use cookie::Cookie;
pub use datagram::{CONNECT, CONNECTS, HEADER, Header, is_accepted, is_connect, reply};
pub(super) use login::is_blank;
pub use login::{Claim, Padding};
pub use message::{Inbox, Malformed, framed};
pub use parameters::Parameters;
pub use results::{Results, StreamResult};
pub use state::State;

#[cfg(test)]
mod tests;
