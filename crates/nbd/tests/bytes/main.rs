//! Client and server in bytes and fixed times: each alone, with what comes cut at every place, and one against the other.

mod client;
mod negotiation;
mod pair;
mod rig;
mod server;
