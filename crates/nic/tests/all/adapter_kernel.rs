//! Tests of the adapter's software offloads against the kernel's, byte for byte: over a veth pair whose sender has no
//! device offloads, the kernel completes checksums and segments super-frames itself.

use crate::common::{Kind, payload};
use linerate_host::{Namespace, Offloads, VethPair};
use linerate_nic::{Count, Nic, NicConfig};
use linerate_port::{Cause, RxQueue, open};
use linerate_ring::{Meta, flags};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

/// A pair without offloads; None, with the reason on standard output, if the privilege is missing.
fn veth() -> Option<(Namespace, VethPair)> {
    let off = Offloads { tx_checksum: false, tso: false, gso: true, gro: false };
    let made = Namespace::new().and_then(|ns| {
        let pair = ns.run_in(|| VethPair::new(["va", "vb"], 1, 1500))??;
        ns.run_in(|| pair.set_offloads("va", off))??;
        Ok((ns, pair))
    });
    linerate_skip::permitted(made, |e| e.cause == linerate_host::Cause::Capability)
}

/// Receives the next `n` frames of host A.
fn receive(rx: &mut RxQueue, n: usize) -> Vec<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let (mut frames, mut bytes) = (Vec::new(), Vec::new());
    while frames.len() < n {
        assert!(Instant::now() < until, "{} of {n} came", frames.len());
        rx.sync();
        let mut batch = rx.ring.batch(u32::MAX);
        let slots = batch.len();
        for i in 0..slots {
            let open = batch.meta(i).is_some_and(|meta| meta.flags & Meta::NEEDS_CSUM != 0 || meta.gso_type != 0);
            assert!(!open, "the kernel left it undone");
            let Some((part, word)) = batch.frame(i) else { continue };
            bytes.extend(part.to_vec());
            if word & flags::MOREFRAG == 0 {
                let frame = std::mem::take(&mut bytes);
                if frame.get(6..12) == Some(&crate::common::A) {
                    frames.push(frame);
                }
            }
        }
        batch.release(slots);
        std::thread::yield_now();
    }
    frames
}

#[test]
fn checksums_and_segments_are_the_kernels_byte_for_byte() {
    let Some((ns, _pair)) = veth() else { return };
    let mut near = ns.run_in(|| open("packet:vb")).unwrap().unwrap();
    let mut rx = near.take_rx(0).unwrap();
    let mut queues = [true, false].map(|hand_down| {
        let port = ns.run_in(|| open("packet:va")).unwrap().unwrap();
        let caps = port.info().caps;
        let config = NicConfig { mac: Some(crate::common::A), hand_down, ..NicConfig::default() };
        let mut nic = Nic::new(port, &config).unwrap();
        let queue = nic.take(0).unwrap();
        (nic, queue, caps)
    });
    let uso = queues[0].2.uso;
    let mut compared = 0;
    for kind in crate::common::KINDS {
        let shape = kind.shape();
        let hdr_len = u16::try_from(shape.headers).unwrap();
        let gso_type = match kind {
            Kind::Tcp4 => 1,
            Kind::Tcp6 => 4,
            _ => 5,
        };
        for (len, gso_size) in
            [(0, 0), (1, 0), (999, 0), (1400, 0), (2801, 1400), (4200, 1400), (30_000, 1428), (500, 33)]
        {
            if gso_size > 0 && !kind.tcp() && !uso {
                continue;
            }
            // Flags of the last segment, of the first, and of all.
            for tcp_flags in if kind.tcp() { &[0x10, 0x19, 0x90, 0xd9][..] } else { &[0][..] } {
                let mut frame = kind.open(&kind.frame(crate::common::B, &payload(len), u32::MAX - 2000));
                if kind.tcp() {
                    frame[usize::from(shape.meta.csum_start) + 13] = *tcp_flags;
                }
                if !kind.v6() {
                    // An identification that wraps around.
                    frame[18..20].copy_from_slice(&0xfffe_u16.to_be_bytes());
                    frame[24..26].fill(0);
                    let sum = linerate_sum::checksum(&frame[14..34]);
                    frame[24..26].copy_from_slice(&sum.to_be_bytes());
                }
                let mut ask = shape.meta;
                if gso_size > 0 {
                    ask = Meta { gso_type, gso_size, hdr_len, ..ask };
                }
                let n = if gso_size > 0 { len.div_ceil(gso_size.into()) } else { 1 };
                let [kernel, ours] = queues.each_mut().map(|(_, queue, _)| {
                    assert!(queue.tx.send(0, &frame, &[], Some(ask)));
                    queue.tx.sync(0);
                    receive(&mut rx, n)
                });
                for (k, (kernel, ours)) in kernel.iter().zip(&ours).enumerate() {
                    assert_eq!(kernel, ours, "{kind:?} {len} {gso_size} {tcp_flags:#x}: frame {k}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 400, "{compared} frames");
}

/// Multicast addresses that an interface was set to receive.
fn groups(ns: &Namespace, interface: &str) -> Vec<String> {
    let text = ns.run_in(|| std::fs::read_to_string("/proc/thread-self/net/dev_mcast")).unwrap().unwrap();
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.get(1) == Some(&interface))
        .filter_map(|row| row.last().map(|word| (*word).to_owned()))
        .collect()
}

#[test]
fn the_kernel_is_told_which_addresses_the_interfaces_want() {
    let Some((ns, _pair)) = veth() else { return };
    let port = ns.run_in(|| open("packet:va")).unwrap().unwrap();
    let nic = Nic::new(port, &NicConfig { interfaces: 2, ..NicConfig::default() }).unwrap();
    let control = nic.control();
    let group = "01005e0a0b0c".to_owned();
    assert!(!groups(&ns, "va").contains(&group));
    control.change(1, |vi| vi.addresses = vec![[0x01, 0x00, 0x5e, 0x0a, 0x0b, 0x0c]]).unwrap();
    assert!(groups(&ns, "va").contains(&group));
    control.change(1, |vi| vi.up = false).unwrap();
    assert!(!groups(&ns, "va").contains(&group));
}

/// With AF_XDP the kernel is asked for checksums where it completes them, and not where a veth would leave them
/// partial.
#[test]
fn over_xdp_checksums_are_handed_down_or_not_as_the_adapter_says() {
    let Some((ns, pair)) = veth() else { return };
    let mut far = ns.run_in(|| open("packet:vb")).unwrap().unwrap();
    let mut rx = far.take_rx(0).unwrap();
    for on in [false, true] {
        pair.set_offloads("va", Offloads { tx_checksum: on, tso: false, gso: true, gro: false }).unwrap();
        let opened = ns.run_in(|| open("xdp:va")).unwrap();
        let Some(port) = linerate_skip::permitted(opened, |e| e.cause == Cause::Capability) else { return };
        let down = port.info().caps.checksum;
        assert!(!(on && down));
        if !on && !down {
            return linerate_skip::skip!("{:?}", port.notes());
        }
        let mut nic = Nic::new(port, &NicConfig { mac: Some(crate::common::A), ..NicConfig::default() }).unwrap();
        let mut queue = nic.take(0).unwrap();
        for kind in crate::common::KINDS {
            let (shape, frame) = (kind.shape(), kind.frame(crate::common::B, &payload(700), 9));
            let open = kind.open(&frame);
            // Also with a tag that the adapter inserts.
            for vlan_tci in [0, 0x2005] {
                let tag = [0x81, 0, 0x20, 0x05];
                let wanted = [&frame[..12], if vlan_tci > 0 { &tag[..] } else { &[][..] }, &frame[12..]].concat();
                crate::common::send(
                    &mut queue,
                    0,
                    &open[..shape.headers],
                    &open[shape.headers..],
                    Some(Meta { vlan_tci, ..shape.meta }),
                );
                assert!(receive(&mut rx, 1)[0] == wanted, "{kind:?}, tag {vlan_tci:#x}");
            }
        }
        let (control, count) = (nic.control(), nic.control().counters(0).unwrap());
        let done = if down { "handed down to the port" } else { "in software" };
        assert!(control.where_done().contains(&("transmit checksum", done)), "{:?}", control.where_done());
        assert!(control.where_done().contains(&("TCP segmentation", "in software")));
        assert_eq!([count.of(Count::TxHandedDown), count.of(Count::TxChecksums)], if down { [8, 0] } else { [0, 8] });
        // The address is not the interface's own, and a veth accepts no other.
        assert!(control.notes().iter().any(|note| note.contains("va keeps no further unicast address")));
    }
}
