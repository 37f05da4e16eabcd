//! Logins of VN_Ports, by the frames that go over the wire.

mod clauses;
mod golden;
mod hostile;
mod pairs;
mod payloads;
mod replay;
mod tshark;
mod world;
