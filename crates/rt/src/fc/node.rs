//! A Fibre Channel node on a port, in one thread.

use super::{FcRx, FcTx};
use crate::machine::Sleeper;
use crate::machine::{Machine, Progress};
use crate::random::random;
use linerate_fcoe::{DeviceServer, FipMode, Node, NodeConfig, NodeEvent};
use linerate_port::{Filter, Info, Link, OpenError, Port, Spec};
use linerate_wire::{FipFrame, MacAddr, VlanTag, Wwn};
use thiserror::Error;

/// Frames taken between two looks at everything else. With more, both ends of a cable would work in turns: one has nothing
/// to do until the other has done all it has.
const BATCH: usize = 32;
/// How long a logout may take before the node goes without an answer.
const PARTING: u64 = 2_000_000_000;
/// Octets behind the Ethernet header in a full FCoE frame.
const FULL: usize = 2158;
/// What is asked of a port that has no MTU of its own: a full frame and its tags, as FCoE networks have it.
const WANTED: u16 = 2180;
/// The least with which a port can log in: 256 octets of payload (FC-LS-3, clause 6.6.2.6).
const LEAST: usize = 302;

/// How a node is set up, apart from what it is.
#[derive(Clone, Debug, Default)]
pub struct FcOptions {
    /// The ENode's MAC address; otherwise the port's own, or a random one.
    pub mac: Option<MacAddr>,
    /// The port's name; otherwise made of the MAC address, as Linux does.
    pub wwpn: Option<Wwn>,
    /// The node's name, likewise.
    pub wwnn: Option<Wwn>,
    /// The tag of all frames.
    pub vlan: Option<VlanTag>,
    /// Octets behind the Ethernet header; otherwise the port's MTU.
    pub mtu: Option<usize>,
    /// One other port is expected, not any number.
    pub point_to_point: bool,
}

/// Why a node could not be set up.
#[derive(Debug, Error)]
pub enum FcError {
    /// The port.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The MTU is more than the port's, or too little for Fibre Channel.
    #[error("an MTU of {0} does not do on {1}: give {LEAST} to {2}{mend}", mend = larger(*.2))]
    Mtu(usize, String, usize),
    /// The port sends or receives only.
    #[error("{0}: it has no queue for each way, and a node needs both: choose another port")]
    OneWay(String),
    /// The MAC address is a group's.
    #[error("{0} is a group's address: give a station's, whose first octet is even")]
    Group(MacAddr),
}

/// How a port whose largest MTU this is may carry full frames.
fn larger(mtu: usize) -> String {
    if mtu < FULL { format!(", or open it with ,mtu={WANTED} for full FCoE frames") } else { String::new() }
}

/// What is told of a node's life, and of what it does in each turn.
pub trait Watcher<S> {
    /// Something happened.
    fn event(&mut self, now: u64, event: &NodeEvent, node: &mut Node<S>);

    /// A turn of the loop: true if there was something to do.
    fn turn(&mut self, now: u64, node: &mut Node<S>) -> bool;

    /// When a turn is wanted although nothing arrives.
    fn poll_timeout(&self) -> Option<u64>;

    /// What else to sleep on.
    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper));

    /// Whether all that was to do is done.
    fn is_done(&self) -> bool;

    /// The port has something for the user to know, in one line, that it had not when the node was set up.
    fn note(&mut self, _note: &str) {}
}

/// A node and its port: a machine for [`crate::run`]. When it is stopped, it logs out first.
pub struct FcNode<S, W> {
    node: Node<S>,
    watcher: W,
    tx: FcTx,
    rx: FcRx,
    port: Port,
    info: Info,
    config: NodeConfig,
    link: Link,
    /// The VN_Port's MAC address that the port was asked for.
    own: Option<MacAddr>,
    /// Why the port receives all frames, if it did not take the addresses.
    unfiltered: Option<String>,
    /// When it goes though nobody has answered.
    parting: Option<u64>,
}

/// An open port, for a node whose names are known.
pub struct FcPort {
    port: Port,
    info: Info,
    config: NodeConfig,
}

impl FcPort {
    /// Opens a port. One that has no MTU of its own, and no other end that has, carries full frames.
    pub fn open(port: &str, options: &FcOptions) -> Result<Self, FcError> {
        Self::over(Spec::parse(port)?.wanting_mtu(WANTED).open()?, options)
    }

    /// Takes an open port, which has a queue each way.
    pub fn over(port: Port, options: &FcOptions) -> Result<Self, FcError> {
        let info = port.info().clone();
        let mtu = options.mtu.unwrap_or(info.mtu);
        if mtu > info.mtu || mtu < LEAST {
            return Err(FcError::Mtu(mtu, info.name, info.mtu));
        }
        let seed = random();
        let mac = options.mac.or(info.mac.map(MacAddr)).unwrap_or_else(|| random_mac(seed));
        if mac.is_multicast() {
            return Err(FcError::Group(mac));
        }
        let config = NodeConfig::new(mac, mtu, seed);
        let config = NodeConfig {
            wwpn: options.wwpn.unwrap_or(config.wwpn),
            wwnn: options.wwnn.unwrap_or(config.wwnn),
            vlan: options.vlan,
            mode: if options.point_to_point { FipMode::PointToPoint } else { FipMode::Multipoint },
            ..config
        };
        Ok(Self { port, info, config })
    }

    /// What a node on it is called; neither target nor initiator yet.
    #[must_use]
    pub fn config(&self) -> NodeConfig {
        self.config
    }

    /// Sets up the node.
    pub fn node<S: DeviceServer, W: Watcher<S>>(
        mut self,
        config: &NodeConfig,
        device: S,
        watcher: W,
    ) -> Result<FcNode<S, W>, FcError> {
        let (Some(tx), Some(rx)) = (self.port.take_tx(0), self.port.take_rx(0)) else {
            return Err(FcError::OneWay(self.info.name));
        };
        ask(&self.port, &self.info, config.mac, None)?;
        Ok(FcNode {
            node: Node::new(config, device),
            watcher,
            tx: FcTx::new(tx, config.vlan),
            rx: FcRx::new(rx),
            port: self.port,
            info: self.info,
            config: *config,
            link: Link::Down,
            own: None,
            unfiltered: None,
            parting: None,
        })
    }
}

impl<S: DeviceServer, W: Watcher<S>> FcNode<S, W> {
    /// Its protocols.
    #[must_use]
    pub fn node(&self) -> &Node<S> {
        &self.node
    }

    /// Who watches it.
    pub fn watcher(&mut self) -> (&mut W, &mut Node<S>) {
        (&mut self.watcher, &mut self.node)
    }

    /// Who watched it.
    #[must_use]
    pub fn into_watcher(self) -> W {
        self.watcher
    }

    /// What the port is.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// What the user should know of the port, as [`Port::notes`] has it.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        notes(&self.port, self.unfiltered.as_ref())
    }

    /// How it was set up: its addresses and names.
    #[must_use]
    pub fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// Whether frames can pass.
    #[must_use]
    pub fn link(&self) -> Link {
        self.port.link()
    }

    /// What was sent and received.
    #[must_use]
    pub fn lines(&self) -> (&FcTx, &FcRx) {
        (&self.tx, &self.rx)
    }

    fn work(&mut self, now: u64) -> bool {
        let Self { node, tx, rx, watcher, .. } = self;
        rx.sync();
        let arrived = rx.receive(BATCH, |frame, _| node.handle(now, frame, tx));
        node.poll(now, tx);
        let own = node.own().map(|(_, mac)| mac);
        if own != self.own {
            self.own = own;
            let before = notes(&self.port, self.unfiltered.as_ref());
            // A port that does not take one more address receives all.
            self.unfiltered = ask(&self.port, &self.info, self.config.mac, own).err().map(|e| {
                let _ = self.port.filter(&Filter { promiscuous: true, all_multicast: true, addresses: Vec::new() });
                format!("{e}: the port receives all frames instead")
            });
            let after = notes(&self.port, self.unfiltered.as_ref());
            after.iter().filter(|note| !before.contains(note)).for_each(|note| watcher.note(note));
        }
        while let Some(event) = node.poll_event() {
            watcher.event(now, &event, node);
        }
        let turned = watcher.turn(now, node);
        if turned {
            node.poll(now, tx);
        }
        if tx.queue().ring.outstanding() > 0 {
            tx.sync();
        }
        arrived > 0 || turned
    }
}

impl<S: DeviceServer, W: Watcher<S>> Machine for FcNode<S, W> {
    fn handle(&mut self, now: u64) -> Progress {
        let link = self.port.link();
        if link != self.link {
            self.link = link;
            // A queue that has nothing to send must look too: the far end of a cable is not let in before.
            self.tx.sync();
            self.node.set_link(now, link == Link::Up, &mut self.tx);
        }
        let worked = self.work(now);
        match self.parting {
            Some(at) if now >= at || self.node.is_quiet() || link != Link::Up => return Progress::Done,
            None if self.watcher.is_done() => {
                self.stop(now);
                // Nobody may have to be waited for.
                return Progress::Worked;
            }
            _ => {}
        }
        if worked { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        [self.node.poll_timeout(), self.watcher.poll_timeout(), self.parting].into_iter().flatten().min()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(self.rx.queue());
        if self.node.is_blocked() || self.tx.queue().ring.outstanding() > 0 {
            visit(self.tx.queue());
        }
        self.watcher.waits_for(visit);
    }

    fn stop(&mut self, now: u64) {
        if self.parting.is_none() {
            self.parting = Some(now.saturating_add(PARTING));
            self.node.log_out(now, &mut self.tx);
        }
    }
}

fn notes(port: &Port, unfiltered: Option<&String>) -> Vec<String> {
    port.notes().into_iter().chain(unfiltered.cloned()).collect()
}

/// Asks a port that chooses what it delivers for what a node receives: FIP's groups, the ENode's address, the VN_Port's.
fn ask(port: &Port, info: &Info, mac: MacAddr, own: Option<MacAddr>) -> Result<(), OpenError> {
    if !info.caps.filters {
        return Ok(());
    }
    let all = [FipFrame::ALL_VN2VN_MACS, FipFrame::ALL_PT2PT_MACS, mac].into_iter().chain(own);
    let addresses = all.map(|mac| mac.0).filter(|mac| Some(*mac) != info.mac).collect();
    port.filter(&Filter { addresses, ..Filter::default() })
}

/// Locally administered, for one station (IEEE 802, section 8.4).
fn random_mac(seed: u64) -> MacAddr {
    let [a, b, c, d, e, f, ..] = seed.to_le_bytes();
    MacAddr([a & 0xfc | 2, b, c, d, e, f])
}
