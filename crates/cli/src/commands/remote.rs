//! Another machine, which has linerate, too.

use clap::Args;
use linerate_lab::remote::Far;

#[derive(Args)]
pub(super) struct OtherMachine {
    /// The other machine, which has linerate: ssh logs in there and starts `linerate agent`.
    #[arg(long, value_name = "USER@HOST")]
    remote: Option<String>,
    /// Data address of the other machine, if it is not the one that ssh goes to.
    #[arg(long, value_name = "HOST", requires = "remote")]
    to: Option<String>,
    /// Command that logs in, with its options (ssh).
    #[arg(long, value_name = "COMMAND", requires = "remote")]
    ssh: Option<String>,
    /// The program at the other machine (linerate).
    #[arg(long, value_name = "PATH", requires = "remote")]
    remote_program: Option<String>,
}

impl OtherMachine {
    /// The machine, if one was named. `cycles`: both interfaces are taken down and up after a change of their MTU.
    pub(super) fn far(&self, cycles: bool) -> Option<Far> {
        Some(Far {
            destination: self.remote.clone()?,
            to: self.to.clone(),
            ssh: self.ssh.clone().unwrap_or_else(|| "ssh".to_owned()),
            program: self.remote_program.clone().unwrap_or_else(|| "linerate".to_owned()),
            cycles,
        })
    }
}
