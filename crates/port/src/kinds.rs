//! The table of port kinds. A kind is one file and one row.

use crate::error::OpenError;
use crate::open::{Context, Demand, Parts};
use crate::spec::Spec;
use crate::{cable, null, pcap, switch};
#[cfg(target_os = "linux")]
use crate::{packet, tap, unix, xdp};

/// One option of a kind.
#[derive(Debug)]
pub struct OptionRow {
    /// Its key.
    pub key: &'static str,
    /// What its value is called in help.
    pub value: &'static str,
    /// What it does, and its default.
    pub about: &'static str,
}

/// One kind of port.
pub struct Kind {
    /// What stands before the colon.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// How it is written.
    pub example: &'static str,
    /// Whether something must follow the colon.
    pub needs_name: bool,
    /// Whether `@N` chooses one queue.
    pub queue_suffix: bool,
    /// Its options besides the common ones.
    pub options: &'static [OptionRow],
    /// What it needs of the region; checks all options' values.
    pub(crate) demand: fn(&Spec) -> Result<Demand, OpenError>,
    /// Opens it.
    pub(crate) open: fn(&Spec, &mut Context<'_>) -> Result<Parts, OpenError>,
}

/// All kinds.
pub static KINDS: &[Kind] = &[
    cable::KIND,
    switch::KIND,
    #[cfg(target_os = "linux")]
    packet::KIND,
    #[cfg(target_os = "linux")]
    tap::KIND,
    #[cfg(target_os = "linux")]
    unix::KIND,
    pcap::KIND,
    null::KIND,
    #[cfg(target_os = "linux")]
    xdp::KIND,
];
