//! Tests of the standards' clauses: bytes in, bytes out, time set by the test.

#[path = "../world/mod.rs"]
mod world;

mod arp;
mod auto;
mod claims;
mod discovery;
mod icmp;
mod ip;
mod ledger;
mod mld;
mod shards;
mod tcp;
mod udp;
