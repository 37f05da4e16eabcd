//! The initiator, frame by frame: bytes in, bytes out, with a clock that stands still.

mod belief;
mod command;
mod early;
mod golden;
mod loss;
mod model;
mod placement;
mod protection;
mod recovery;
mod scan;

mod world;
