//! `linerate fcoe discover`.

use super::common::{HEADING, NodeArguments, introduce, line, role};
use crate::commands::shared::{confine, ended, stop_after, stop_at_signals};
use crate::print::print_told;
use crate::trouble::Trouble;
use clap::Args;
use linerate_fcoe::{Disks, DisksConfig, Neighbour, Node, NodeEvent};
use linerate_rt::fc::Watcher;
use linerate_rt::{Sleeper, Waiter, run as run_machine};
use serde_json::json;
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    node: NodeArguments,
    /// Seconds to look: acquiring an address takes one, and other ports advertise themselves every eight.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Print a JSON document.
    #[arg(long)]
    json: bool,
}

/// Watcher that does nothing.
struct Look;

impl Watcher<Disks> for Look {
    fn event(&mut self, _: u64, _: &NodeEvent, _: &mut Node<Disks>) {}

    fn turn(&mut self, _: u64, _: &mut Node<Disks>) -> bool {
        false
    }

    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    fn waits_for(&mut self, _: &mut dyn FnMut(&mut dyn Sleeper)) {}

    fn is_done(&self) -> bool {
        false
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Trouble> {
    let port = arguments.node.port("fcoe discover -i xdp:eth1")?;
    let config = port.config();
    let disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 0 });
    let stop = stop_at_signals()?;
    let mut node = port.node(&config, disks, Look)?;
    confine(&[]);
    if !arguments.json {
        introduce(&node);
    }
    stop_after(&stop, Some(arguments.seconds));
    run_machine(&mut node, &mut Waiter::new(arguments.node.wait), &stop);
    node.check()?;
    let found: Vec<_> = node.node().fip().neighbours().copied().collect();
    print_told(&if arguments.json { document(&found) } else { table(&found) }, arguments.json);
    Ok(ended(&stop))
}

fn table(found: &[Neighbour]) -> String {
    if found.is_empty() {
        return "nobody else is there: is the link up, the VLAN right, and the other side in VN2VN mode?\n".to_owned();
    }
    found.iter().fold(HEADING.to_owned(), |text, neighbour| text + &line(neighbour))
}

fn document(found: &[Neighbour]) -> String {
    let ports: Vec<_> = found
        .iter()
        .map(|n| {
            json!({
                "wwpn": n.wwpn.to_string(), "wwnn": n.wwnn.to_string(), "fc_id": n.fc_id.to_string(),
                "mac": n.mac.to_string(), "enode_mac": n.enode_mac.to_string(), "max_fcoe_size": n.max_fcoe_size,
                "role": role(n.role),
            })
        })
        .collect();
    format!("{}\n", json!({ "schema": "linerate.fcoe.discover", "version": 1, "ports": ports }))
}
