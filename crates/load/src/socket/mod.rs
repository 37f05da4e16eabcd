//! Sockets of loads: names and addresses, and options that the standard library has not.

mod place;
pub(crate) mod sys;

pub use place::{Family, Place};
pub(crate) use place::{addresses, dial, listen, open, plain, receive_at};
