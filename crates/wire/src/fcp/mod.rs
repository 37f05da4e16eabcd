//! FCP: SCSI's commands, data and status as information units of Fibre Channel (FCP-4).

mod command;
mod ready;
mod response;
mod srr;

pub use command::{FcpCommand, fcp_attribute, fcp_function};
pub use ready::FcpTransferReady;
pub use response::{FcpResponse, fcp_code};
pub use srr::{FcpSrr, FcpSrrReply};
