//! A station: a node, its names, and the disks behind it.

use crate::chance::Chance;
use crate::medium::{BLOCK, Medium, Slow};
use crate::model::BLOCKS;
use crate::network::Out;
use linerate_block::{Memory, Ram, Tag};
use linerate_fcoe::*;
use linerate_wire::scsi::lun_bytes;
use linerate_wire::{MacAddr, Wwn};
use std::cell::RefCell;
use std::rc::Rc;

pub(crate) const SECOND: u64 = 1_000_000_000;
/// Commands of an initiator at once.
pub(crate) const DEPTH: u16 = 16;
/// Initiator that is not on the network, to read disks directly.
const WITHIN: PeerId = PeerId { index: 99, generation: 9 };

pub(crate) fn lun(number: usize) -> Lun {
    Lun(lun_bytes(u16::try_from(number).unwrap()).unwrap())
}

/// One node on the network, and its replacement after a restart.
pub(crate) struct Station {
    pub(crate) node: Node<Disks>,
    pub(crate) out: Out,
    /// Frames come and go.
    pub(crate) link: bool,
    config: NodeConfig,
    auth: Option<AuthConfig>,
    /// Bytes of the buffers of its disks.
    buffers: usize,
}

/// Random bytes.
fn seed(chance: &mut Chance) -> [u8; 32] {
    std::array::from_fn(|_| chance.below(256).to_le_bytes()[0])
}

/// Disks of the names of a station.
fn disks(config: &NodeConfig, buffers: usize) -> Disks {
    Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers })
}

impl Station {
    /// The target, or an initiator by its number.
    pub(crate) fn new(number: usize, target: bool, chance: &mut Chance) -> Self {
        let [.., last] = number.to_be_bytes();
        let high = chance.below(256).to_le_bytes()[0];
        let mac = MacAddr([2, high, 0, 0, chance.below(256).to_le_bytes()[0], last]);
        let mut config = NodeConfig::new(mac, chance.of(&[2158, 2500, 1500]), chance.next());
        config.retry = chance.often(600);
        if target {
            config.target = Some(TargetConfig {
                max_exchanges: 64,
                max_queue: chance.of(&[1024, 1024, 6]),
                max_peers: 8,
                burst: chance.of(&[u32::MAX, 4096]),
                turn: chance.of(&[1, 2, 32]),
                patience: 20 * SECOND,
                max_finished: 16,
                max_finished_bytes: 1 << 14,
            });
        } else {
            let exchanges = usize::from(DEPTH);
            config.initiator = Some(InitiatorConfig { exchanges, queue_depth: DEPTH, retries: chance.of(&[5, 2]) });
        }
        let buffers = chance.of(&[1 << 20, 1 << 16]);
        let node = Node::new(&config, disks(&config, buffers));
        Self { node, out: Out::default(), link: false, config, auth: None, buffers }
    }

    pub(crate) fn wwpn(&self) -> Wwn {
        self.config.wwpn
    }

    /// Has it and others authenticate each other with these secrets, now and after restarts.
    pub(crate) fn authenticate(&mut self, auth: AuthConfig, chance: &mut Chance) {
        self.node.authenticate_with(auth.clone(), seed(chance));
        self.auth = Some(auth);
    }

    /// A target's disks: one in memory, with this content, and one on a medium.
    pub(crate) fn plug(&mut self, content: &[u8], medium: &Rc<RefCell<Medium>>) {
        let mut ram = Ram::new((BLOCKS * BLOCK) as u64, 512, false, 1).unwrap();
        Memory::write(&mut ram, 0, content);
        let disks = self.node.target_mut().unwrap().device_mut();
        disks.add(0, Box::new(ram)).unwrap();
        disks.add(1, Box::new(Slow::new(medium.clone()))).unwrap();
    }

    /// Puts another disk in the place of the one in memory, with this content, or that one back again.
    pub(crate) fn exchange(&mut self, other: bool, content: &[u8]) {
        let mut ram = Ram::new((BLOCKS * BLOCK) as u64, 512, false, if other { 9 } else { 1 }).unwrap();
        Memory::write(&mut ram, 0, content);
        let disks = self.node.target_mut().unwrap().device_mut();
        disks.remove(0).unwrap();
        disks.add(0, Box::new(ram)).unwrap();
    }

    /// Content of the disk in memory, as somebody reads it who has not known another in its place.
    pub(crate) fn content(&mut self, other: bool) -> Vec<u8> {
        let disks = self.node.target_mut().unwrap().device_mut();
        disks.nexus(WITHIN, Wwn(if other { 2 } else { 1 }));
        let blocks = u8::try_from(BLOCKS).unwrap();
        let cdb = [0x28, 0, 0, 0, 0, 0, 0, 0, blocks, 0, 0, 0, 0, 0, 0, 0];
        let (tag, all) = (Tag(1000), BLOCKS * BLOCK);
        for _ in 0..4 {
            let data_in = u32::MAX;
            let task = Task {
                tag,
                nexus: WITHIN,
                lun: lun(0),
                cdb: &cdb,
                attribute: TaskAttribute::HeadOfQueue,
                data_out: 0,
                data_in,
            };
            // At first it is told that it is new.
            if let Step::SendMemory { offset: 0, .. } = disks.command(0, &task) {
                let content = disks.memory(tag).unwrap().read(0, all).to_vec();
                disks.nexus_lost(WITHIN);
                return content;
            }
        }
        panic!("the disk in memory cannot be read");
    }

    /// A fresh node of the same names takes its place.
    pub(crate) fn restart(&mut self, chance: &mut Chance) {
        self.config.seed = chance.next();
        self.node = Node::new(&self.config, disks(&self.config, self.buffers));
        if let Some(auth) = &self.auth {
            self.node.authenticate_with(auth.clone(), seed(chance));
        }
        self.link = false;
    }

    /// The session with the target.
    pub(crate) fn session(&self) -> Option<Peer> {
        self.node.peers().find(|peer| peer.role.target).copied()
    }

    /// True if both this station and the target have a session.
    pub(crate) fn is_logged_in(&self, target: &Self) -> bool {
        self.session().is_some() && target.node.peers().any(|peer| peer.wwpn == self.config.wwpn)
    }

    /// True if the station receives frames to this address.
    pub(crate) fn hears(&self, to: MacAddr) -> bool {
        to.is_multicast() || to == self.config.mac || self.node.own().is_some_and(|(_, mac)| mac == to)
    }

    pub(crate) fn is_target(&self) -> bool {
        self.config.target.is_some()
    }
}
