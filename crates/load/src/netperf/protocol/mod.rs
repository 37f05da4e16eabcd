//! Messages of the control connection: bytes in, settings out; knows no socket.
//!
//! Every message has 656 bytes: two words (the kind of message and an error number, 0 for none; in requests the second
//! word is the processor that the server shall run on, or -1), and 162 words of the test's own. Words go in the
//! network's order, floating-point numbers as the words that their bits make, texts as bytes. netperf 2.7.0 speaks two
//! dialects: [`omni`] for all tests but TCP_SENDFILE, and [`stream`] for that one.

mod message;
pub mod omni;
pub mod stream;

pub use message::{Code, Malformed, Message};

#[cfg(test)]
mod tests;
