//! SCSI, apart from what carries it: a device server and its tasks (SAM-5), and what its steps ask of the transport.

mod server;

pub use server::{DeviceServer, Function, FunctionResponse, Lun, Response, Step, Task, TaskAttribute};
