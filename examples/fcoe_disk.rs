//! A disk in memory that is served over Fibre Channel over Ethernet to whoever is on the link: `fcoe_disk PORT`, such as
//! `fcoe_disk xdp:eth0`. Linux's `fcoe` module, or `linerate fcoe ls -i PORT`, finds it there.

use linerate_block::Ram;
use linerate_fcoe::{Disks, DisksConfig, Node, NodeConfig, NodeEvent, TargetConfig};
use linerate_rt::fc::{FcOptions, FcPort, Watcher};
use linerate_rt::{Sleeper, Stop, WaitMode, Waiter, forward_signals, run};

/// Prints who comes and goes.
struct Events;

impl Watcher<Disks> for Events {
    fn event(&mut self, _: u64, event: &NodeEvent, _: &mut Node<Disks>) {
        match event {
            NodeEvent::Up(peer) => println!("{} has logged in", peer.wwpn),
            NodeEvent::Down(peer, _) => println!("{} has left", peer.wwpn),
            _ => {}
        }
    }
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).ok_or("give a port, such as xdp:eth0")?;
    let port = FcPort::open(&port, &FcOptions::default())?;
    let config = NodeConfig { target: Some(TargetConfig::default()), ..port.config() };
    let mut disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 64 << 20 });
    disks.add(0, Box::new(Ram::new(64 << 20, 512, false, config.wwpn.0)?))?;
    let mut node = port.node(&config, disks, Events)?;
    let stop = Stop::new()?;
    forward_signals(&stop)?;
    println!("{} offers LUN 0: 64 MiB", config.wwpn);
    run(&mut node, &mut Waiter::new(WaitMode::Adaptive), &stop);
    Ok(())
}
