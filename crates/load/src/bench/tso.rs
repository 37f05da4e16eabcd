//! Bench of TCP segmentation, beside a copy of the same bytes.

use super::alone::on_core;
use super::copied::{SIZE, copies, copy_apart, timed};
use super::tcp::{HEADERS, MSS, Segment, payload};
use super::{Bench, How, Missing, Peer, Setting, failed};
use linerate_nic::{Nic, NicConfig, NicTx};
use linerate_offload::{Frames, Prepared, Segments};
use linerate_port::open;
use linerate_result::Unit;
use linerate_ring::Meta;
use linerate_wire::TcpFlags;
use std::hint::black_box;
use std::time::Duration;

pub(super) const BENCH: Bench = Bench {
    name: "tso",
    about: "64 KiB cut into frames of 1500 bytes, headers and checksums included, as bytes of payload; one core",
    unit: Unit::BytesPerSecond,
    two_cores: false,
    bound: None,
    run: |setting| measure(setting, segment),
    peers: &[
        Peer { name: "memcpy", how: How::Best(copies), wanted: Some(0.6) },
        Peer {
            name: "memcpy, frame by frame",
            how: How::Own(|setting| measure(setting, copy_apart::<MSS, HEADERS, STRIDE>)),
            wanted: None,
        },
        Peer { name: "adapter, 1024 slots", how: How::Own(|setting| measure(setting, adapter)), wanted: None },
        Peer {
            name: "adapter, prepared headers",
            how: How::Own(|setting| measure(setting, adapter_prepared)),
            wanted: None,
        },
    ],
};

/// Number of frames that the payload becomes.
const FRAMES: usize = SIZE.div_ceil(MSS);
/// Distance from one frame's memory to the next, as in a ring, bytes.
const STRIDE: usize = 2048;
/// Header fields of the first frame.
const FIRST: Segment<'static> =
    Segment { stream: 1000, ident: 65_500, seq: u32::MAX - 9999, flags: TcpFlags(0x18), payload: &[] };

type Measure = fn(&[u8], Duration) -> Result<f64, Missing>;

/// Bytes per second, computed from nanoseconds per 64 KiB.
fn measure(setting: &Setting, measure: Measure) -> Result<f64, Missing> {
    let time = setting.time;
    on_core(setting.cores[0], move || measure(&payload(SIZE), time)).map(|ns| SIZE as f64 * 1e9 / ns)
}

/// Measures the offload alone, into memory that is used again each time.
fn segment(payload: &[u8], time: Duration) -> Result<f64, Missing> {
    let template = FIRST.frame()?;
    let mut memory = vec![0; FRAMES * STRIDE];
    let ns = timed(time, || cut(&template, payload, &mut memory))?;
    judge(payload, memory.chunks(STRIDE))?;
    Ok(ns)
}

fn cut(template: &[u8], payload: &[u8], memory: &mut Vec<u8>) -> Result<(), Missing> {
    let slices = [black_box(payload)];
    let size = u16::try_from(MSS).map_err(failed)?;
    let mut segments = Segments::new(template, &slices, size).map_err(failed)?;
    for place in memory.chunks_mut(STRIDE) {
        segments.write_next(place).ok_or_else(|| failed("a segment was not written"))?;
    }
    black_box(memory);
    Ok(())
}

/// Measures segmentation by an adapter that parses the headers each time.
fn adapter(payload: &[u8], time: Duration) -> Result<f64, Missing> {
    let template = FIRST.frame()?;
    let [gso_size, hdr_len] = [MSS, HEADERS].map(|n| u16::try_from(n).unwrap_or(0));
    let request = Meta {
        flags: Meta::NEEDS_CSUM,
        gso_type: 1,
        hdr_len,
        gso_size,
        csum_start: 34,
        csum_offset: 16,
        ..Meta::default()
    };
    through_adapter(payload, time, |tx| tx.send(0, &template, &[black_box(payload)], Some(request)))
}

/// Measures segmentation by an adapter behind headers that were prepared once.
fn adapter_prepared(payload: &[u8], time: Duration) -> Result<f64, Missing> {
    let headers = Prepared::new(&FIRST.frame()?).map_err(failed)?;
    let size = u16::try_from(MSS).map_err(failed)?;
    through_adapter(payload, time, |tx| tx.send_prepared(0, &headers, &[black_box(payload)], size))
}

/// Measures an adapter over a ring of 1024 slots of `null:`; `send` sends 64 KiB.
fn through_adapter(payload: &[u8], time: Duration, mut send: impl FnMut(&mut NicTx) -> bool) -> Result<f64, Missing> {
    let mut nic = Nic::new(open("null:").map_err(failed)?, &NicConfig::default()).map_err(failed)?;
    let mut tx = nic.take_tx(0).ok_or_else(|| failed("no queue"))?;
    let mut sent = 0u64;
    let ns = timed(time, || {
        if !send(&mut tx) {
            return Err(failed("the ring is full"));
        }
        tx.sync(0);
        sent += 1;
        Ok(())
    })?;
    let count = tx.port().counters();
    if count.frames != sent * FRAMES as u64 || count.bytes != sent * (SIZE + FRAMES * HEADERS) as u64 {
        return Err(failed(format!("{sent} times 64 KiB became {count:?}")));
    }
    // `null:` leaves frames in their slots: the slots to be filled next hold the oldest ones. The newest slot is not
    // among them, so the last 64 KiB but one are checked.
    let mut batch = tx.port().ring.reserve(u32::MAX);
    let frames: Vec<Vec<u8>> = (0..batch.len()).map(|i| batch.frame(i).to_vec()).collect();
    let first = frames.len().saturating_sub(2 * FRAMES - 1);
    judge(payload, frames[first..].iter().take(FRAMES).map(Vec::as_slice))?;
    Ok(ns)
}

/// Checks that these are the frames that the payload becomes; each lies at the front of its memory.
fn judge<'a>(payload: &[u8], frames: impl Iterator<Item = &'a [u8]>) -> Result<(), Missing> {
    let mut chunks = payload.chunks(MSS);
    let mut expected = FIRST;
    for memory in frames {
        let chunk = chunks.next().ok_or_else(|| failed("there are more frames than payload"))?;
        let wanted =
            Segment { flags: if chunks.len() == 0 { FIRST.flags } else { TcpFlags::ACK }, payload: chunk, ..expected };
        let seen = memory.get(..HEADERS + chunk.len()).and_then(Segment::parse);
        if seen != Some(wanted) {
            let Segment { ident, seq, .. } = wanted;
            return Err(failed(format!("the segment with identification {ident} and sequence number {seq} is wrong")));
        }
        expected.ident = expected.ident.wrapping_add(1);
        expected.seq = expected.seq.wrapping_add(u32::try_from(chunk.len()).map_err(failed)?);
    }
    if chunks.len() == 0 { Ok(()) } else { Err(failed(format!("{} segments are missing", chunks.len()))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_write_what_they_are_to_write() {
        let payload = payload(SIZE);
        for way in [segment, copy_apart::<MSS, HEADERS, STRIDE>, adapter, adapter_prepared] {
            assert!(way(&payload, Duration::from_millis(1)).unwrap() > 0.0);
        }
    }

    #[test]
    fn a_wrong_byte_or_a_missing_frame_fails_the_run() {
        let payload = payload(SIZE);
        let mut memory = vec![0; FRAMES * STRIDE];
        cut(&FIRST.frame().unwrap(), &payload, &mut memory).unwrap();
        judge(&payload, memory.chunks(STRIDE)).unwrap();
        assert!(judge(&payload, memory.chunks(STRIDE).take(FRAMES - 1)).is_err());
        assert!(judge(&payload, memory.chunks(STRIDE).skip(1)).is_err());
        for at in [0, STRIDE + 18, 7 * STRIDE + 25, 20 * STRIDE + 47, 40 * STRIDE + 1000, (FRAMES - 1) * STRIDE + 60] {
            memory[at] ^= 1;
            assert!(judge(&payload, memory.chunks(STRIDE)).is_err(), "byte {at}");
            memory[at] ^= 1;
        }
    }
}
