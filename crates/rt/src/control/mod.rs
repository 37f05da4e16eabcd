//! Control sockets: other processes of the same user ask a running command something, or have it do something.
//!
//! A request is a line of words, its answer a text: what they mean is the command's business. The socket lies in the
//! directory of the user's sockets ([`linerate_port::runtime_dir`]), mode 0600, and users are compared as well.
//!
//! A [`Server`] has a thread of its own, so no client ever delays the thread that moves frames: neither one that says
//! nothing or reads nothing, nor ten thousand of them. What only that thread can know is looked at between two of its
//! turns, by a [`Caller`]; while nobody asks, that costs the thread one load a turn.
//!
//! ```
//! use linerate_rt::control::{Server, ask, list};
//! let name = format!("doc-{}", std::process::id());
//! let server = Server::listen("example", &name, |words| match words {
//!     ["show"] => Ok("all is well\n".into()),
//!     _ => Err(format!("{}: no such request", words.join(" "))),
//! })?;
//! assert_eq!(ask("example", server.name(), "show")?, "all is well\n");
//! assert!(ask("example", server.name(), "sing").is_err());
//! assert!(list("example")?.contains(&name));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Out of scope: formats of requests and answers, and printing them.

mod call;
mod client;
mod name;
mod server;
mod session;
#[cfg(test)]
mod tests;

pub use call::{CallError, Callee, Caller, callee};
pub use client::{ControlError, ask, ask_within, list};
pub use server::Server;
