//! `-f rxseq`: receives frames with the numbers of netmap's pkt-gen, checks their UDP checksums and their order.

use super::job::Setup;
use super::modes::{Mode, Role};
use super::output::Output;
use super::rx::{Rx, Verify};
use crate::check::{Joint, Order, Received, Sequence};
use crate::frame::Stamp;
use linerate_ring::Frame;
use linerate_rt::monotonic_ns;
use linerate_wire::{EtherType, EthernetFrame, IpProtocol, Ipv4Packet, Ipv6Packet, UdpDatagram};
use std::sync::Arc;

pub(super) const MODE: Mode = Mode {
    name: "rxseq",
    about: "receive frames numbered as netmap's pkt-gen does, and check their order",
    role: Role::Receiver,
    burst: 512,
    single: false,
    far: None,
    job: |setup, lanes| Box::new(Rx::new(setup, lanes, Numbers::new(setup))),
};

/// Greatest number of lines about gaps that are printed per second.
const LINES: u32 = 2;

/// Checks numbered frames.
struct Numbers {
    vnet: usize,
    counted: Received,
    sequence: Option<Sequence>,
    /// Begin of this second, and the number of lines printed in it.
    told: (u64, u32),
    scratch: Vec<u8>,
    output: Arc<Output>,
    joint: Option<Arc<Joint>>,
}

impl Numbers {
    fn new(setup: &Setup) -> Self {
        Self {
            vnet: setup.config.vnet,
            counted: Received::default(),
            sequence: None,
            told: (0, 0),
            scratch: vec![0; 65536],
            output: setup.output.clone(),
            joint: setup.joint.clone(),
        }
    }

    /// Payload of a UDP frame, and true if its checksum is right or left out.
    fn payload(frame: &[u8]) -> Option<(&[u8], bool)> {
        let ethernet = EthernetFrame::new_checked(frame).ok()?;
        let right = |datagram: &UdpDatagram<&[u8]>, verified: bool| datagram.checksum() == 0 || verified;
        match ethernet.ethertype() {
            EtherType::IPV4 => {
                let ip =
                    Ipv4Packet::new_checked(ethernet.payload()).ok().filter(|ip| ip.protocol() == IpProtocol::UDP)?;
                let udp = UdpDatagram::new_checked(ip.payload()).ok()?;
                Some((udp.payload(), right(&udp, udp.verify_checksum_v4(ip.src(), ip.dst()))))
            }
            EtherType::IPV6 => {
                let ip = Ipv6Packet::new_checked(ethernet.payload()).ok()?;
                let ip = Some(ip).filter(|ip| ip.next_header() == IpProtocol::UDP)?;
                let udp = UdpDatagram::new_checked(ip.payload()).ok()?;
                Some((udp.payload(), right(&udp, udp.verify_checksum_v6(ip.src(), ip.dst()))))
            }
            _ => None,
        }
    }

    /// Records a frame of this number; its high bits are inferred from the expected number.
    fn number(&mut self, low: u32) {
        let first = u64::from(low) + (1 << 32);
        let joint = &self.joint;
        let sequence = self.sequence.get_or_insert_with(|| match joint {
            Some(joint) => Sequence::joint(joint),
            None => Sequence::from(first),
        });
        if self.joint.is_some() && sequence.expected() == 0 {
            sequence.next(first);
            return;
        }
        let expected = sequence.expected();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            reason = "the low 32 bits, as a distance"
        )]
        let distance = low.wrapping_sub(expected as u32) as i32;
        let full = expected.saturating_add_signed(distance.into());
        let what = match sequence.next(full) {
            // If other threads receive too, the numbers missing here have arrived there.
            _ if self.joint.is_some() => return,
            Order::Next => return,
            Order::Ahead => "GAP",
            Order::Late | Order::Again => "OUT OF ORDER",
        };
        self.tell(&format!("Sequence {what}: exp {} found {low}", expected & 0xffff_ffff));
    }

    #[cold]
    fn tell(&mut self, line: &str) {
        let now = monotonic_ns();
        if now > self.told.0 + 1_000_000_000 {
            self.told = (now, 0);
        }
        if self.told.1 < LINES {
            self.told.1 += 1;
            self.output.remark("rxseq_body", 1990, line);
        }
    }
}

impl Verify for Numbers {
    fn frame(&mut self, frame: &Frame<'_>) {
        if let Some(bytes) = frame.bytes() {
            return self.bytes(bytes);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        if frame.len() <= scratch.len() && frame.read(0, &mut scratch[..frame.len()]) {
            self.bytes(&scratch[..frame.len()]);
        }
        self.scratch = scratch;
    }

    fn bytes(&mut self, frame: &[u8]) {
        self.counted.frames += 1;
        self.counted.bytes += frame.len() as u64;
        match Self::payload(frame.get(self.vnet..).unwrap_or_default()) {
            Some(([a, b, c, d, ..], right)) => {
                self.counted.corrupt += u64::from(!right);
                self.number(u32::from_be_bytes([*a, *b, *c, *d]));
            }
            _ => {
                self.counted.foreign += 1;
                self.tell(&format!("rxseq_body: packet too small (len={})", frame.len()));
            }
        }
    }

    fn counted(&self) -> Received {
        self.counted
    }

    fn come(&self) -> u64 {
        let again = self.sequence.as_ref().map_or(0, Sequence::duplicates);
        self.counted.frames.saturating_sub(self.counted.foreign + again)
    }

    fn received(&self) -> Received {
        let Some(sequence) = &self.sequence else { return self.counted };
        Received {
            ours: sequence.received(),
            duplicates: sequence.duplicates(),
            reordered: sequence.reordered(),
            lost: sequence.lost(),
            unsent: sequence.duplicates(),
            ..self.counted
        }
    }

    fn stamp(&self) -> Option<Stamp> {
        None
    }

    fn settle(&mut self) {
        if let Some(sequence) = &mut self.sequence {
            sequence.hand_over();
        }
    }
}
