//! Timings of the offloads, printed without a limit: `cargo test --release -p linerate-offload --test timing --
//! --ignored --nocapture`. The benchmark that compares them is elsewhere.

use std::hint::black_box;
use std::time::{Duration, Instant};

use linerate_offload::{
    DEFAULT_KEY, Frames, Lro, LroConfig, Received, Segments, Toeplitz, Verdict, fill_checksums, verify_checksums,
};

/// Nanoseconds of one call: the best of several rounds, to exclude other load of the machine.
fn nanoseconds(calls_a_round: u32, mut call: impl FnMut()) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..40 {
        let start = Instant::now();
        for _ in 0..calls_a_round {
            call();
        }
        best = best.min(start.elapsed());
    }
    best.as_secs_f64() * 1e9 / f64::from(calls_a_round)
}

/// A TCP segment on IPv4 with a time-stamp option.
fn frame(seq: u32, ident: u16, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    let total = u16::try_from(52 + payload.len()).unwrap();
    frame.extend(total.to_be_bytes());
    frame.extend(ident.to_be_bytes());
    frame.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(port.to_be_bytes());
    frame.extend([0, 80]);
    frame.extend(seq.to_be_bytes());
    frame.extend([0, 0, 0, 9, 0x80, 0x10, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
    frame.extend(payload);
    fill_checksums(&mut frame, &[]).unwrap();
    frame
}

/// Upper bound for a checksum's speed: 64-bit words of a buffer in the L1 cache, loaded and added.
#[inline(never)]
fn read_loop(bytes: &[u8]) -> u64 {
    let (steps, rest) = bytes.as_chunks::<64>();
    let mut lanes = [0_u64; 8];
    for step in steps {
        for (lane, word) in lanes.iter_mut().zip(step.as_chunks::<8>().0) {
            *lane = lane.wrapping_add(u64::from_ne_bytes(*word));
        }
    }
    let rest = rest.as_chunks::<8>().0.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)));
    lanes.iter().fold(rest, |sum, lane| sum.wrapping_add(*lane))
}

#[test]
#[ignore = "prints timings"]
fn checksum_beside_a_read_loop() {
    let bytes = vec![0x5a_u8; 1448];
    let read = nanoseconds(20_000, || {
        black_box(read_loop(black_box(&bytes)));
    });
    let sum = nanoseconds(20_000, || {
        black_box(linerate_sum::checksum(black_box(&bytes)));
    });
    let frame = frame(1, 1, 1, &bytes);
    let verify = nanoseconds(20_000, || {
        assert_eq!(verify_checksums(black_box(&frame), &[]), Verdict::Good);
    });
    println!(
        "1448 bytes: checksum {sum:.1} ns, read loop {read:.1} ns, ratio {:.2}; verify {verify:.1} ns",
        read / sum
    );
}

#[test]
#[ignore = "prints timings"]
fn segmentation_beside_a_copy() {
    let payload: Vec<u8> = (0..65160_u32).map(|i| i.to_be_bytes()[3]).collect();
    let template = &frame(1, 1, 1, &[0])[..66];
    // Slots of 2048 bytes, one after the other, as in a ring; frames begin 256 bytes into their buffer.
    let slots = 46;
    let mut ring = vec![0_u8; slots * 2048 + 4096];
    let slices = [&payload[..]];
    let tso = nanoseconds(200, || {
        let mut segments = Segments::new(template, black_box(&slices), 1448).unwrap();
        let mut slot = 0;
        while segments.next_len().is_some() {
            segments.write_next(&mut ring[slot * 2048 + 256..][..1792]).unwrap();
            slot += 1;
        }
        black_box(&mut ring);
    });
    let into_slots = nanoseconds(200, || {
        for (slot, chunk) in black_box(&payload).chunks(1448).enumerate() {
            ring[slot * 2048 + 256..][..chunk.len()].copy_from_slice(chunk);
        }
        black_box(&mut ring);
    });
    let plain = nanoseconds(200, || {
        ring[..payload.len()].copy_from_slice(black_box(&payload));
        black_box(&mut ring);
    });
    println!(
        "64 KB: TSO {tso:.0} ns, memcpy {plain:.0} ns, ratio {:.2}; memcpy into slots {into_slots:.0} ns, ratio {:.2}",
        plain / tso,
        into_slots / tso
    );
}

#[test]
#[ignore = "prints timings"]
fn merging() {
    for flows in [1_u16, 8, 64] {
        let payload = vec![7; 1448];
        let mut frames = Vec::new();
        for k in 0..45_u16 {
            for port in 0..flows {
                frames.push(frame(u32::from(k) * 1448, k, port, &payload));
            }
        }
        let mut lro = Lro::new(LroConfig { flows: 256, max_len: 65535, max_pieces: 64, timeout: 1_000_000 });
        let mut packets = 0_u64;
        let pass = nanoseconds(40, || {
            for (name, frame) in (0..).zip(black_box(&frames)) {
                let received = Received {
                    head: frame,
                    len: frame.len(),
                    frame: name,
                    verdict: Verdict::Good,
                    vlan_tci: 0,
                    hash: 1,
                };
                lro.push(0, &received, |_| packets += 1);
            }
            lro.flush(|_| packets += 1);
        });
        let each = pass / f64::from(u32::try_from(frames.len()).unwrap());
        println!("{flows} flows: {each:.1} ns a segment, {:.1} M segments/s, {packets} packets", 1000.0 / each);
    }
}

#[test]
#[ignore = "prints timings"]
fn hashing() {
    let toeplitz = Toeplitz::new(DEFAULT_KEY);
    for len in [12, 36] {
        let input = vec![0x77_u8; len];
        let hash = nanoseconds(100_000, || {
            black_box(toeplitz.hash(black_box(&input)));
        });
        println!("Toeplitz over {len} bytes: {hash:.1} ns");
    }
}
