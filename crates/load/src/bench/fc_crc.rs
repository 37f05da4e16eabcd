//! Bench of Fibre Channel segmentation, beside a copy of the same bytes.

use super::alone::on_core;
use super::copied::{SIZE, copies, copy_apart, timed};
use super::{Bench, How, Missing, Peer, Setting, failed};
use linerate_offload::{FcSegments, Frames, Verdict, verify_fc_crc};
use linerate_port::SlotWriter;
use linerate_port::open;
use linerate_result::Unit;
use linerate_wire::{
    Eof, EtherType, EthernetFrame, EthernetRepr, FcHeader, FcId, FcType, FcoeFrame, MacAddr, OxId, RxId, Sof, f_ctl,
    r_ctl,
};
use std::hint::black_box;
use std::time::Duration;

pub(super) const BENCH: Bench = Bench {
    name: "fc-crc",
    about: "64 KiB cut into FC frames of 2112 bytes, headers and CRCs included, as bytes of payload; one core",
    unit: Unit::BytesPerSecond,
    two_cores: false,
    bound: None,
    run: |setting| measure(setting, segment),
    peers: &[
        Peer { name: "memcpy", how: How::Best(copies), wanted: Some(0.6) },
        Peer {
            name: "memcpy, frame by frame",
            how: How::Own(|setting| measure(setting, copy_apart::<MAX, HEADERS, STRIDE>)),
            wanted: None,
        },
        Peer { name: "check of the frames", how: How::Own(|setting| measure(setting, check)), wanted: None },
        Peer { name: "queue, 1024 slots", how: How::Own(|setting| measure(setting, queue)), wanted: None },
    ],
};

/// Bytes of payload in a frame.
const MAX: usize = 2112;
/// Number of frames that the payload becomes.
const FRAMES: usize = SIZE.div_ceil(MAX);
/// Bytes before the FC header, and before the payload.
const FRONT: usize = 14 + FcoeFrame::HEADER_LEN;
const HEADERS: usize = FRONT + FcHeader::LEN;
/// Distance from one frame's memory to the next, as in a ring, bytes.
const STRIDE: usize = 4096;

type Measure = fn(&[u8], Duration) -> Result<f64, Missing>;

/// Bytes per second, computed from nanoseconds per 64 KiB.
fn measure(setting: &Setting, measure: Measure) -> Result<f64, Missing> {
    let time = setting.time;
    on_core(setting.cores[0], move || measure(&payload(), time)).map(|ns| SIZE as f64 * 1e9 / ns)
}

fn payload() -> Vec<u8> {
    (0..SIZE).map(|i| u8::try_from((i * 7 + i / 251) % 256).unwrap_or(0)).collect()
}

/// FC header of READ data, as a target sends it.
fn header() -> FcHeader {
    FcHeader {
        r_ctl: r_ctl::DATA,
        d_id: FcId::new(1),
        cs_ctl: 0,
        s_id: FcId::new(2),
        fc_type: FcType::FCP,
        f_ctl: f_ctl::EXCHANGE_RESPONDER | f_ctl::END_SEQUENCE | f_ctl::RELATIVE_OFFSET,
        seq_id: 1,
        df_ctl: 0,
        seq_cnt: 0xfff8,
        ox_id: OxId(0x0123),
        rx_id: RxId(0x4567),
        parameter: 512,
    }
}

fn front() -> Result<[u8; FRONT], Missing> {
    let mut front = [0; FRONT];
    let ethernet = EthernetRepr { dst: MacAddr([2; 6]), src: MacAddr([6; 6]), ethertype: EtherType::FCOE };
    ethernet.emit(&mut front).map_err(failed)?;
    Ok(front)
}

/// Measures the offload alone, into memory that is used again each time.
fn segment(payload: &[u8], time: Duration) -> Result<f64, Missing> {
    let front = front()?;
    let mut memory = vec![0; FRAMES * STRIDE];
    let ns = timed(time, || cut(&front, payload, &mut memory))?;
    judge(payload, memory.chunks(STRIDE))?;
    Ok(ns)
}

fn cut(front: &[u8], payload: &[u8], memory: &mut Vec<u8>) -> Result<(), Missing> {
    let slices = [black_box(payload)];
    let mut segments = FcSegments::new(front, &header(), &slices, MAX, true, true).map_err(failed)?;
    for place in memory.chunks_mut(STRIDE) {
        segments.write_next(place).ok_or_else(|| failed("a frame was not written"))?;
    }
    black_box(memory);
    Ok(())
}

/// Measures the receiver's part: comparing the frames' CRCs with computed ones.
fn check(payload: &[u8], time: Duration) -> Result<f64, Missing> {
    let mut memory = vec![0; FRAMES * STRIDE];
    cut(&front()?, payload, &mut memory)?;
    judge(payload, memory.chunks(STRIDE))?;
    let frames: Vec<&[u8]> = memory.chunks(STRIDE).zip(payload.chunks(MAX)).map(whole).collect();
    timed(time, || {
        if frames.iter().all(|frame| verify_fc_crc(black_box(frame)) == Verdict::Good) {
            Ok(())
        } else {
            Err(failed("a right CRC was found wrong"))
        }
    })
}

/// A frame in its memory, given the length of its payload.
fn whole<'a>((memory, payload): (&'a [u8], &[u8])) -> &'a [u8] {
    &memory[..HEADERS + payload.len() + FcoeFrame::TRAILER_LEN]
}

/// Measures segmentation into a ring of 1024 slots of `null:`.
fn queue(payload: &[u8], time: Duration) -> Result<f64, Missing> {
    let mut port = open("null:,mtu=2180").map_err(failed)?;
    let mut tx = port.take_tx(0).ok_or_else(|| failed("no queue"))?;
    let front = front()?;
    let mut sent = 0u64;
    let ns = timed(time, || {
        let slices = [black_box(payload)];
        let mut segments = FcSegments::new(&front, &header(), &slices, MAX, true, true).map_err(failed)?;
        let mut writer = SlotWriter::new(&mut tx.ring, u32::MAX);
        while let Some(len) = writer.with_first(|slot| segments.write_next(slot)).flatten() {
            writer.end(len, None);
        }
        writer.commit();
        if segments.remaining() > 0 {
            return Err(failed("the ring is full"));
        }
        tx.sync();
        sent += 1;
        Ok(())
    })?;
    let count = tx.counters();
    let each = SIZE + FRAMES * (HEADERS + FcoeFrame::TRAILER_LEN);
    if count.frames != sent * FRAMES as u64 || count.bytes != sent * each as u64 {
        return Err(failed(format!("{sent} times 64 KiB became {count:?}")));
    }
    // `null:` leaves frames in their slots: the slots to be filled next hold the oldest ones. The newest slot is not
    // among them, so the last 64 KiB but one are checked.
    let mut batch = tx.ring.reserve(u32::MAX);
    let frames: Vec<Vec<u8>> = (0..batch.len()).map(|i| batch.frame(i).to_vec()).collect();
    let first = frames.len().saturating_sub(2 * FRAMES - 1);
    judge(payload, frames[first..].iter().take(FRAMES).map(Vec::as_slice))?;
    Ok(ns)
}

/// Checks that these are the frames that the payload becomes; each lies at the front of its memory.
fn judge<'a>(payload: &[u8], mut frames: impl Iterator<Item = &'a [u8]>) -> Result<(), Missing> {
    let mut wanted = header();
    for (i, chunk) in payload.chunks(MAX).enumerate() {
        let memory = frames.next().ok_or_else(|| failed(format!("{} frames are missing", FRAMES - i)))?;
        let last = i + 1 == FRAMES;
        wanted.f_ctl = header().f_ctl & if last { !0 } else { !f_ctl::END_SEQUENCE };
        let marks = (if i == 0 { Sof::I3 } else { Sof::N3 }, if last { Eof::T } else { Eof::N });
        let ethernet = EthernetFrame::new_checked(whole((memory, chunk))).map_err(failed)?;
        let right = FcoeFrame::new_checked(ethernet.payload()).is_ok_and(|frame| {
            (frame.sof(), frame.eof()) == marks
                && *frame.header() == wanted
                && frame.payload() == chunk
                && frame.crc() == plainly(frame.covered())
        });
        if !right
            || (ethernet.dst(), ethernet.src(), ethernet.ethertype())
                != (MacAddr([2; 6]), MacAddr([6; 6]), EtherType::FCOE)
        {
            return Err(failed(format!("the frame with relative offset {} is wrong", wanted.parameter)));
        }
        wanted.seq_cnt = wanted.seq_cnt.wrapping_add(1);
        wanted.parameter += u32::try_from(chunk.len()).map_err(failed)?;
    }
    if frames.next().is_none() { Ok(()) } else { Err(failed("there are more frames than payload")) }
}

/// CRC-32, computed bit by bit.
fn plainly(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_write_what_they_are_to_write() {
        for way in [segment, copy_apart::<MAX, HEADERS, STRIDE>, check, queue] {
            assert!(way(&payload(), Duration::from_millis(1)).unwrap() > 0.0);
        }
    }

    #[test]
    fn a_wrong_byte_or_a_missing_frame_fails_the_run() {
        let payload = payload();
        let mut memory = vec![0; FRAMES * STRIDE];
        cut(&front().unwrap(), &payload, &mut memory).unwrap();
        judge(&payload, memory.chunks(STRIDE)).unwrap();
        assert!(judge(&payload, memory.chunks(STRIDE).take(FRAMES - 1)).is_err());
        assert!(judge(&payload, memory.chunks(STRIDE).skip(1)).is_err());
        let last = (FRAMES - 1) * STRIDE + HEADERS + SIZE % MAX;
        for at in [0, 13, STRIDE + 27, 7 * STRIDE + 37, 20 * STRIDE + 43, 30 * STRIDE + 1000, last, last + 4] {
            memory[at] ^= 1;
            assert!(judge(&payload, memory.chunks(STRIDE)).is_err(), "byte {at}");
            memory[at] ^= 1;
        }
    }
}
