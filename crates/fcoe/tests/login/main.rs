//! Logins of VN_Ports, by the frames that go over the wire.

mod clauses;
mod golden;
mod payloads;
mod world;
