//! netmap's memory in user space: a [`Region`] holds rings of slots and the buffers they name, laid out as
//! `netmap.h` lays them out, and may be shared between threads and between processes.
//!
//! Life of a frame: a user reserves slots of a [`TxRing`], writes frames into their buffers and commits them; an engine
//! (a port) takes committed slots and gives them back once they are sent ([`OwnTx`]). On receive the engine delivers
//! slots to an [`RxRing`] ([`OwnRx`]), the user reads the frames and releases the slots. A [`Pipe`] joins a transmit
//! ring to another user's receive ring, as a virtual cable does, and is the engine of both.
//!
//! Out of scope: this crate knows no protocol, no port, no policy and no clock.
//!
//! # Trust
//! A region is *private* (one process maps it) or *shared*. Values that another process may have written are not
//! trusted: cursors, buffer indices and lengths are read once and checked where they are consumed, and no Rust
//! reference ever points into buffer memory of a shared region; frames are copied in and out ([`Frame`]).

#![deny(missing_docs)]

mod bell;
mod cell;
mod claim;
mod copy;
mod cursor;
mod error;
mod frame;
mod gather;
pub mod layout;
mod own;
mod pause;
mod pipe;
mod prefetch;
mod region;
mod relay;
mod ring;
mod rx;
pub mod sys;
mod tx;

pub use bell::Bell;
pub use cell::{Meta, SlotCell, SlotWord};
pub use claim::next_id;
pub use error::{BadSlot, RegionError};
pub use frame::Frame;
pub use gather::Gathered;
pub use layout::flags;
pub use own::{OwnRx, OwnTx};
pub use pause::Pause;
pub use pipe::{Pipe, PipeRx, PipeTx, Reclaimed};
pub use region::{BUFFERS_RESERVED, Buffer, HEADROOM, Region, RegionConfig, RingPair, RingSpot, Sharing, TOLD};
pub use relay::Alike;
pub use ring::RingStats;
pub use rx::{RxBatch, RxRing, forward};
pub use sys::closing::Foreign;
pub use tx::{TxBatch, TxRing};
