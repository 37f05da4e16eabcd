//! SCSI, independent of the transport: a device server and its tasks (SAM-5), and their steps for the transport.

mod attention;
mod blocks;
mod buffers;
mod change;
mod commands;
mod copy;
mod defects;
mod diagnostic;
mod disks;
mod format;
mod hold;
mod identifying;
mod inquiry;
mod kept;
mod lists;
mod log;
mod manage;
mod met;
mod mode;
mod name;
mod nexus;
mod opcodes;
mod order;
mod ports;
mod reserve;
mod response;
mod run;
mod sanitize;
mod select;
mod server;
mod task;
mod transfer;
mod unit;
mod upkeep;
mod work;

pub(crate) use inquiry::VENDOR;

pub use disks::{DiskStatus, Disks, DisksConfig, DisksError, UnitOptions};
pub use kept::Keeper;
pub use name::{Naa, NaaError, UnitName};
pub use ports::DiskPort;
pub use server::{DeviceServer, Function, FunctionResponse, Lun, Response, Step, Task, TaskAttribute};
pub use unit::UnitCounters;

#[cfg(test)]
mod tests;
