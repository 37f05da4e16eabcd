//! The standards clause by clause: octets in, octets out, time in the test's hand.

#[path = "../world/mod.rs"]
mod world;

mod arp;
mod discovery;
mod icmp;
mod ip;
mod ledger;
mod udp;
