//! Frames from captures: the first one, sent again and again (`-P`), or all of them at their times (`--pcap`).

use super::run::Refusal;
use linerate_port::capture::{CaptureError, Counts, Reader};
use linerate_text::saturating_u64;
use linerate_wire::{
    EtherType, EthernetFrame, IpProtocol, Ipv4Packet, Ipv6Packet, VlanHeader, pseudo_header_v4, pseudo_header_v6,
};
use std::path::Path;

/// Makes a refusal; the error names the file itself.
fn refuse(flag: &'static str) -> impl Fn(CaptureError) -> Refusal {
    move |error| Refusal::Usage(format!("{flag}: {error}"))
}

pub(super) fn first_frame(path: &Path) -> Result<Vec<u8>, Refusal> {
    let mut reader = Reader::open(path).map_err(refuse("-P"))?;
    match reader.read().map_err(refuse("-P"))? {
        Some(record) => Ok(record.data.to_vec()),
        None => Err(Refusal::Usage(format!("-P {}: there is no frame in it; give a capture with one", path.display()))),
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReplayConfig {
    pub path: std::path::PathBuf,
    /// The only interface whose frames are sent, counted from 0; `None` for all Ethernet interfaces.
    pub interface: Option<u32>,
    /// Number of passes; 0 for no end.
    pub loops: u64,
    /// Multiple of the original speed; 0 for as fast as possible.
    pub speed: f64,
}

/// A capture in replay. One frame is held at a time, in memory that grows to the longest.
pub(super) struct Replay {
    reader: Reader,
    /// Passes left, this one included; `u64::MAX` for no end.
    loops: u64,
    /// Nanoseconds of replay per nanosecond of the capture, times 2^32; 0 for as fast as possible.
    pace: u128,
    /// Time of this pass's first frame in the capture, and in the replay.
    origin: Option<(u64, u64)>,
    held: Vec<u8>,
    due: u64,
    /// True if a frame is held.
    ready: bool,
    /// Number of frames in this pass.
    frames: u64,
    ended: bool,
    update_csum: bool,
    /// Reason why the replay ended before the end of the capture.
    pub(super) broken: Option<String>,
}

impl Replay {
    pub(super) fn open(config: &ReplayConfig, update_csum: bool) -> Result<Self, Refusal> {
        let reader = Reader::open_only(&config.path, config.interface).map_err(refuse("--pcap"))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the speed is checked to be sane")]
        let pace = if config.speed > 0.0 { (4_294_967_296.0 / config.speed) as u128 } else { 0 };
        Ok(Self {
            reader,
            loops: if config.loops == 0 { u64::MAX } else { config.loops },
            pace,
            origin: None,
            held: Vec::new(),
            due: 0,
            ready: false,
            frames: 0,
            ended: false,
            update_csum,
            broken: None,
        })
    }

    /// Length of the next frame, if it may be sent now.
    pub(super) fn peek(&mut self, now: u64) -> Option<usize> {
        if !self.ready && !self.ended {
            self.read(now);
        }
        (self.ready && self.due <= now).then_some(self.held.len())
    }

    /// Takes the next frame, which is sent now.
    pub(super) fn take(&mut self) -> &[u8] {
        self.ready = false;
        &self.held
    }

    /// Time at which the next frame is due, if one is held back.
    pub(super) fn due(&self) -> Option<u64> {
        self.ready.then_some(self.due)
    }

    pub(super) fn ended(&self) -> bool {
        self.ended && !self.ready
    }

    fn read(&mut self, now: u64) {
        loop {
            match self.reader.read() {
                Ok(Some(record)) => {
                    let (then, start) = *self.origin.get_or_insert((record.time_ns, now));
                    // A capture may go back in time; the frame is then sent at once.
                    let passed = (u128::from(record.time_ns.saturating_sub(then)) * self.pace) >> 32;
                    self.due = start.saturating_add(saturating_u64(passed));
                    self.held.clear();
                    self.held.extend_from_slice(record.data);
                    if self.update_csum {
                        update_checksums(&mut self.held);
                    }
                    (self.ready, self.frames) = (true, self.frames + 1);
                    return;
                }
                Ok(None) => {
                    self.loops -= u64::from(self.loops != u64::MAX);
                    // A pass without a frame would be repeated for ever.
                    if self.loops == 0 || self.frames == 0 {
                        self.ended = true;
                        return;
                    }
                    (self.origin, self.frames) = (None, 0);
                    if let Err(error) = self.reader.rewind() {
                        return self.end(&error);
                    }
                }
                Err(error) if error.is_later() => return,
                Err(error) => return self.end(&error),
            }
        }
    }

    pub(super) fn counts(&self) -> Counts {
        self.reader.counts()
    }

    fn end(&mut self, error: &CaptureError) {
        self.ended = true;
        self.broken = Some(error.to_string());
    }
}

/// Corrects the IPv4 header's, UDP's and TCP's checksums, behind up to two VLAN tags. Captures on hosts whose adapters
/// fill checksums in have wrong ones. Fragments and frames without IP stay unchanged.
pub(super) fn update_checksums(frame: &mut [u8]) {
    let Some((at, ethertype)) = network(frame) else { return };
    let packet = &mut frame[at..];
    if ethertype == EtherType::IPV4 {
        let Ok(mut ip) = Ipv4Packet::new_checked(&mut packet[..]) else { return };
        ip.fill_checksum();
        if ip.is_fragment() {
            return;
        }
        let (src, dst, protocol) = (ip.src(), ip.dst(), ip.protocol());
        let payload = ip.payload_mut();
        let sum = pseudo_header_v4(src, dst, protocol, payload.len());
        transport(protocol, payload, sum);
    } else if ethertype == EtherType::IPV6 {
        let Ok(mut ip) = Ipv6Packet::new_checked(&mut packet[..]) else { return };
        let (src, dst, protocol) = (ip.src(), ip.dst(), ip.next_header());
        let payload = ip.payload_mut();
        let sum = pseudo_header_v6(src, dst, protocol, payload.len());
        transport(protocol, payload, sum);
    }
}

/// Offset of the IP header, and its version by the EtherType.
fn network(frame: &[u8]) -> Option<(usize, EtherType)> {
    let mut ethertype = EthernetFrame::new_checked(frame).ok()?.ethertype();
    let mut at = EthernetFrame::<&[u8]>::HEADER_LEN;
    for _ in 0..2 {
        if ethertype.is_vlan() {
            ethertype = VlanHeader::new_checked(&frame[at..]).ok()?.ethertype();
            at += VlanHeader::<&[u8]>::HEADER_LEN;
        }
    }
    Some((at, ethertype))
}

fn transport(protocol: IpProtocol, payload: &mut [u8], mut sum: linerate_sum::Sum) {
    let at = match protocol {
        IpProtocol::UDP if payload.len() >= 8 && payload[6..8] != [0, 0] => 6,
        IpProtocol::TCP if payload.len() >= 20 => 16,
        _ => return,
    };
    payload[at..at + 2].fill(0);
    let checksum = sum.add_bytes(payload).finish();
    // Zero means "no checksum" in UDP; its equal is sent (RFC 768).
    let checksum = if checksum == 0 && protocol == IpProtocol::UDP { 0xffff } else { checksum };
    payload[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests;
