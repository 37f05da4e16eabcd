//! Nodes, frames they sent, and frames written by hand.

use linerate_block::Ram;
use linerate_fcoe::*;
use linerate_wire::*;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1000 * MS;
pub(crate) const TARGET: MacAddr = MacAddr([2, 0, 0, 0, 0x0e, 1]);
pub(crate) const INITIATOR: MacAddr = MacAddr([2, 0, 0, 0, 0x0e, 2]);

#[derive(Default)]
pub(crate) struct Out(pub(crate) Vec<Vec<u8>>);

impl Transmit for Out {
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        let payload = sequence.payload.concat();
        assert!(payload.len() <= sequence.max_payload, "what is sent here fits a frame");
        self.0.push(frame(&sequence.link, sequence.header, &payload));
        1
    }

    fn frame(&mut self, frame: &[u8]) -> bool {
        self.0.push(frame.to_vec());
        true
    }

    fn room(&self) -> usize {
        1000
    }
}

/// A frame that is a sequence.
pub(crate) fn frame(link: &Link, mut header: FcHeader, payload: &[u8]) -> Vec<u8> {
    let fill = payload.len().next_multiple_of(4) - payload.len();
    header.f_ctl |= u32::try_from(fill).unwrap();
    let ends = FcoeRepr { sof: Sof::I3, eof: Eof::T };
    let mut bytes = [link.dst.0, link.src.0].concat();
    if let Some(VlanTag(tag)) = link.vlan {
        bytes.extend([0x81, 0]);
        bytes.extend(tag.to_be_bytes());
    }
    bytes.extend([0x89, 0x06]);
    bytes.extend(ends.header());
    bytes.extend(header.bytes());
    bytes.extend(payload);
    bytes.extend(&[0; 3][..fill]);
    bytes.extend(ends.trailer(0));
    bytes
}

pub(crate) fn config(mac: MacAddr) -> NodeConfig {
    let config = NodeConfig::new(mac, 2158, u64::from(mac.0[5]));
    match mac {
        TARGET => NodeConfig { target: Some(TargetConfig::default()), ..config },
        _ => NodeConfig { initiator: Some(InitiatorConfig::default()), ..config },
    }
}

pub(crate) fn node(config: &NodeConfig) -> Node<Disks> {
    let mut disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 1 << 20 });
    disks.add(0, Box::new(Ram::new(1 << 16, 512, false, 1).unwrap())).unwrap();
    Node::new(config, disks)
}
