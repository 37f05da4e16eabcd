//! Bench of large receive offload: the rate at which segments are merged.

use super::alone::{each_ns, on_core};
use super::tcp::{HEADERS, MSS, Segment, payload};
use super::{Bench, How, Missing, Peer, Setting, failed};
use linerate_offload::{Lro, LroConfig, Merged, Received, Verdict, complete_checksum};
use linerate_result::Unit;
use linerate_wire::TcpFlags;
use std::hint::black_box;
use std::time::Duration;

pub(super) const BENCH: Bench = Bench {
    name: "lro",
    about: "TCP segments of one flow merged, 44 of 1460 bytes to a packet, their checksums judged before; one core",
    unit: Unit::Pps,
    two_cores: false,
    bound: Some(30e6),
    run: |setting| run(setting, 1),
    peers: &[
        Peer { name: "8 flows in turn", how: How::Own(|setting| run(setting, 8)), wanted: None },
        Peer { name: "64 flows in turn", how: How::Own(|setting| run(setting, 64)), wanted: None },
    ],
};

/// Segments per merged packet: as many as 65535 bytes hold.
const PIECES: usize = 44;
/// Number of times that all segments are offered between two clock readings.
const PASSES: usize = 8;
const CONFIG: LroConfig = LroConfig { flows: 256, max_len: u16::MAX, max_pieces: 64, timeout: 1_000_000 };

fn run(setting: &Setting, flows: u16) -> Result<f64, Missing> {
    let time = setting.time;
    on_core(setting.cores[0], move || measure(flows, time)).map(|ns| 1e9 / ns)
}

fn measure(flows: u16, time: Duration) -> Result<f64, Missing> {
    let bulk = payload(PIECES * MSS);
    let frames = segments(flows, &bulk)?;
    let mut lro = Lro::new(CONFIG);
    let wanted = [frames.len(), frames.len() * MSS, flows.into()].map(|n| n * PASSES);
    let ns = each_ns(time, || {
        let (mut segments, mut bytes, mut packets) = (0, 0, 0);
        for _ in 0..PASSES {
            pass(&mut lro, &frames, |merged| {
                segments += merged.pieces.len();
                bytes += merged.pieces.iter().map(|piece| usize::from(piece.end - piece.start)).sum::<usize>();
                packets += 1;
            })?;
        }
        if [segments, bytes, packets] != wanted {
            let came = [segments, bytes, packets];
            return Err(failed(format!("{wanted:?} segments, bytes and packets became {came:?}")));
        }
        Ok(segments as u64)
    })?;
    judge(&mut lro, flows, &frames, &bulk)?;
    Ok(ns)
}

/// The same bytes in each flow, segment by segment, the flows in turn; the last segment of each flow has PSH set.
fn segments(flows: u16, bulk: &[u8]) -> Result<Vec<Vec<u8>>, Missing> {
    let mut frames = Vec::new();
    for (number, payload) in (0u16..).zip(bulk.chunks(MSS)) {
        let last = usize::from(number) + 1 == PIECES;
        let flags = if last { TcpFlags::ACK.union(TcpFlags::PSH) } else { TcpFlags::ACK };
        let seq = u32::from(number) * u32::try_from(MSS).unwrap_or(0);
        for stream in 1..=flows {
            frames.push(Segment { stream, ident: number, seq, flags, payload }.frame()?);
        }
    }
    Ok(frames)
}

/// Offers each frame once; all must be held, and come out merged.
fn pass(lro: &mut Lro, frames: &[Vec<u8>], mut out: impl FnMut(Merged<'_>)) -> Result<(), Missing> {
    for (name, frame) in (0..).zip(black_box(frames)) {
        let received =
            Received { head: frame, len: frame.len(), frame: name, verdict: Verdict::Good, vlan_tci: 0, hash: 1 };
        lro.push(0, &received, &mut out);
    }
    lro.flush(&mut out);
    if lro.held() == 0 { Ok(()) } else { Err(failed("segments stayed behind")) }
}

/// Checks that each flow comes out as one packet that holds its bytes.
fn judge(lro: &mut Lro, flows: u16, frames: &[Vec<u8>], bulk: &[u8]) -> Result<(), Missing> {
    let mut wrong = Vec::new();
    let mut seen = vec![false; usize::from(flows)];
    pass(lro, frames, |merged| {
        let mut packet = merged.header.to_vec();
        for piece in merged.pieces {
            let bytes =
                frames.get(piece.frame as usize).and_then(|frame| frame.get(piece.start.into()..piece.end.into()));
            packet.extend(bytes.unwrap_or_default());
        }
        // The checksum field holds the sum of the pseudo-header, as the metadata says; completed, it must be right.
        let completed = complete_checksum(&mut packet, &[], &merged.meta).is_ok();
        let whole = Segment::parse(&packet).filter(|segment| {
            completed
                && (segment.ident, segment.seq, segment.flags) == (0, 0, TcpFlags::ACK.union(TcpFlags::PSH))
                && segment.payload == bulk
        });
        let place = whole.and_then(|segment| seen.get_mut(usize::from(segment.stream).wrapping_sub(1)));
        match place {
            Some(seen) if !*seen => *seen = true,
            _ => wrong.push(packet.len()),
        }
    })?;
    if wrong.is_empty() && seen.iter().all(|seen| *seen) {
        return Ok(());
    }
    Err(failed(format!("{flows} flows of {} bytes became wrong packets of {wrong:?} bytes", HEADERS + bulk.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_merged_whole() {
        for flows in [1, 8, 64] {
            assert!(measure(flows, Duration::from_millis(1)).unwrap() > 0.0);
        }
    }

    #[test]
    fn a_changed_byte_or_a_missing_segment_fails_the_run() {
        let bulk = payload(PIECES * MSS);
        let mut frames = segments(2, &bulk).unwrap();
        let mut lro = Lro::new(CONFIG);
        judge(&mut lro, 2, &frames, &bulk).unwrap();
        for at in [26, 40, 700] {
            frames[9][at] ^= 1;
            assert!(judge(&mut lro, 2, &frames, &bulk).is_err(), "byte {at}");
            frames[9][at] ^= 1;
        }
        frames.remove(5);
        assert!(judge(&mut lro, 2, &frames, &bulk).is_err());
    }
}
