//! Selection of the disks that a command works on.

use super::common::NodeArguments;
use super::secrets::InitiatorSecrets;
use crate::commands::shared::confine;
use crate::trouble::Trouble;
use clap::Args;
use linerate_load::fcoe::Visit;
use linerate_rt::Stop;
use linerate_rt::fc::Integrity;
use linerate_wire::Wwn;

/// The node, and the target of the disks.
#[derive(Args)]
pub(super) struct Which {
    #[command(flatten)]
    node: NodeArguments,
    #[command(flatten)]
    secrets: InitiatorSecrets,
    /// The target's port name; otherwise all targets are looked at.
    #[arg(long, value_name = "WWPN")]
    target: Option<Wwn>,
    /// Seconds to look for targets.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

impl Which {
    /// Opens the port.
    pub(super) fn visit<'a>(&self, example: &str, integrity: Integrity, stop: &'a Stop) -> Result<Visit<'a>, Trouble> {
        let auth = self.secrets.read()?;
        Ok(Visit {
            port: self.node.port(example)?.with_auth(auth),
            target: self.target,
            timeout: self.timeout,
            integrity,
            wait: self.node.wait,
            stop,
            opened: || confine(&[]),
        })
    }
}
