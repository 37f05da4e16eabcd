//! The initiator, frame by frame: bytes in, bytes out, with a clock that stands still.

mod placement;
mod recovery;

mod world;
