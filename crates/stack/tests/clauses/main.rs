//! The standards clause by clause: bytes in, bytes out, time in the test's hand.

#[path = "../world/mod.rs"]
mod world;

mod arp;
mod discovery;
mod icmp;
mod ip;
mod ledger;
mod udp;
