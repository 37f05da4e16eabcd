//! Who linerate is compared with: programs that people know, run by the script `peer`, and linerate's own measures.

use super::{Missing, Setting};
use std::process::{Command, Stdio};

/// A peer of a bench.
pub struct Peer {
    /// As it is shown.
    pub name: &'static str,
    /// How it is measured.
    pub how: How,
    /// The ratio linerate : peer that is wanted, if one is.
    pub wanted: Option<f64>,
}

/// How a peer is measured.
pub enum How {
    /// By the script, with these arguments.
    Script(&'static [&'static str]),
    /// By linerate itself.
    Own(fn(&Setting) -> Result<f64, Missing>),
}

impl Peer {
    /// Its figure, in the bench's unit.
    pub(super) fn measure(&self, setting: &Setting) -> Result<f64, Missing> {
        match self.how {
            How::Own(measure) => measure(setting),
            How::Script(arguments) => script(setting, arguments),
        }
    }
}

/// The `value` of the JSON object that the script prints last.
fn script(setting: &Setting, arguments: &[&str]) -> Result<f64, Missing> {
    let Some(peers) = &setting.peers else {
        return Err(Missing::Skipped("no folder with the script 'peer': give --peers DIR (bench/peers)".into()));
    };
    let program = peers.join("peer");
    let cores = setting.cores.map(|c| c.to_string()).join(",");
    let out = Command::new(&program)
        .args(arguments)
        .args(["--cores", &cores])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| Missing::Skipped(format!("{}: {e}", program.display())))?;
    let complaint = String::from_utf8_lossy(&out.stderr);
    let last = complaint.lines().last().unwrap_or("it said nothing").to_owned();
    if !out.status.success() {
        return Err(Missing::Skipped(format!("{last} (bench/peers/install installs the peers)")));
    }
    let text = String::from_utf8_lossy(&out.stdout);
    let said: serde_json::Value =
        text.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    match said["value"].as_f64() {
        Some(value) if said["valid"] != false => Ok(value),
        Some(_) => Err(Missing::Failed("the peer's own figure is not valid: the cores changed state".into())),
        None => Err(Missing::Failed(format!("the peer gave no figure: {last}"))),
    }
}
