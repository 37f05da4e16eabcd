//! Block devices: their [`Geometry`], the [`Operation`]s that they take, the [`Buffer`]s that hold the data, and the
//! trait [`Backend`] of an implementation. The two devices that need nothing but memory are here too: [`Ram`] and
//! [`Null`].
//!
//! Out of scope: it makes no system call, reads no clock, starts no thread, and knows no protocol by which
//! a device is reached.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod backend;
mod buffer;
mod geometry;
mod null;
mod operation;
mod pool;
mod ram;

pub use backend::{Backend, Extent, Memory};
pub use buffer::Buffer;
pub use geometry::{Geometry, GeometryError, SizeError};
pub use null::Null;
pub use operation::{BackendError, Completion, Operation, Tag};
pub use pool::Pool;
pub use ram::Ram;
