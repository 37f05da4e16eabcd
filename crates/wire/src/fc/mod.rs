//! Fibre Channel on Ethernet: names and addresses, the FC-2 header, and its encapsulation.

mod exchange_id;
mod fcoe;
mod header;
mod id;

pub use exchange_id::{OxId, RxId};
pub use fcoe::{Eof, FcoeFrame, FcoeRepr, Sof};
pub use header::{FcHeader, FcType, f_ctl, r_ctl};
pub use id::{FcId, Wwn};
