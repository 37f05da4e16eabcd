//! Block devices: its [`Geometry`], the [`Operation`]s that it can be asked for, the [`Buffer`]s that their data lies
//! in, and the trait [`Backend`] for whatever does them. Two devices that need nothing but memory are here too: [`Ram`] and
//! [`Null`].
//!
//! Out of scope: it makes no system call, reads no clock, starts no thread, and knows no protocol by which
//! a device is reached.

#![forbid(unsafe_code)]

mod backend;
mod buffer;
mod geometry;
mod null;
mod operation;
mod pool;
mod ram;

pub use backend::{Backend, Memory};
pub use buffer::Buffer;
pub use geometry::{Geometry, GeometryError};
pub use null::Null;
pub use operation::{BackendError, Completion, Operation, Tag};
pub use pool::Pool;
pub use ram::Ram;
