//! The Data Center Bridging Exchange: the information of its TLVs, of IEEE 802.1Q (annex D) and of its predecessor CEE 1.01.

mod cee;
mod ieee;

pub use cee::{Cee, CeeApplication, CeeControl, CeeFeature, CeeGroups, CeePfc, cee_selector};
pub use ieee::{DcbxApplication, DcbxApplicationVlan, DcbxClasses, DcbxEts, DcbxPfc, dcbx_algorithm, dcbx_selector};
