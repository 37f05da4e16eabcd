//! What the ends of FCP allocate: all of it when they are made, within bounds, and nothing for a command.

mod counting;
mod initiator;
mod target;
