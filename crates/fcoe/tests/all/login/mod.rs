//! Logins of VN_Ports, by the frames that go over the wire.

mod auth;
mod golden;
mod hostile;
mod pairs;
mod payloads;
mod ports;
mod processes;
mod replay;
mod sessions;
mod tshark;
mod twins;
mod world;
