//! The machines by scripts, golden captures and hostile peers. One program, so that little is linked.

mod fip;
mod initiator;
mod login;
mod node;
mod target;
