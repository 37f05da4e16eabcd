//! Logins of VN_Ports, by the frames that go over the wire.

mod golden;
mod payloads;
