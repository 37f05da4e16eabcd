use super::*;
use crate::frame::{Flow, FlowRange, Layout, Mark, Payload, Template};
use linerate_port::open_all;
use linerate_ring::Meta;
use std::net::IpAddr;
use std::thread;
use std::time::Instant;

fn frames(n: u64, len: impl Fn(u64) -> usize) -> Vec<Vec<u8>> {
    let layout = Layout { vnet: 0, v6: false };
    let template = Template { layout, src_mac: [2; 6], dst_mac: [4; 6], stream: 1, payload: Payload::Marked };
    let addr = IpAddr::from([10, 0, 0, 1]);
    let one = FlowRange { addrs: (addr, addr), ports: (5, 5) };
    let flow = Flow { src: one.addrs.0, dst: one.addrs.1, src_port: one.ports.0, dst_port: one.ports.1 };
    (0..n).map(|k| template.frame(len(k), &flow, 1, k, 0)).collect()
}

/// Puts frames into a ring, cut into slots of at most `each` bytes, until it is full.
fn put(tx: &mut TxQueue, frames: &[Vec<u8>], each: usize) -> usize {
    let mut done = 0;
    for frame in frames {
        let slots: Vec<&[u8]> = frame.chunks(each).collect();
        let mut batch = tx.ring.reserve(slots.len().try_into().unwrap());
        if (batch.len() as usize) < slots.len() {
            break;
        }
        for (i, part) in slots.iter().enumerate() {
            let i = u32::try_from(i).unwrap();
            assert!(batch.put(i, part));
            batch.set(i, part.len(), if i as usize + 1 < slots.len() { flags::MOREFRAG } else { 0 });
        }
        batch.commit(slots.len().try_into().unwrap());
        done += 1;
    }
    tx.sync();
    done
}

fn take(rx: &mut RxQueue, chain: &mut Vec<u8>, got: &mut Vec<Vec<u8>>) {
    rx.sync();
    let mut batch = rx.ring.batch(u32::MAX);
    let n = batch.len();
    for i in 0..n {
        let (frame, slot) = batch.frame(i).unwrap();
        chain.extend(frame.to_vec());
        if slot & flags::MOREFRAG == 0 {
            got.push(std::mem::take(chain));
        }
    }
    batch.release(n);
}

/// Checks `a{ — a} (bridge) b{ — b}`: frames put in at one end come out at the other, in both directions, in order and
/// whole.
fn through(names: [[&str; 2]; 2], apart: bool, each: usize, by_swap: bool) {
    let (mut left, mut right) = if apart {
        (open_all(&names[0]).unwrap(), open_all(&names[1]).unwrap())
    } else {
        let mut all = open_all(&names.concat()).unwrap();
        let right = all.split_off(2);
        (all, right)
    };
    let mut ends = (left.remove(0), right.remove(1));
    let mut between = [left.remove(0), right.remove(0)];
    let (mut a, mut b) = (ends.0.take_tx(0).unwrap(), ends.1.take_rx(0).unwrap());
    let (mut c, mut d) = (ends.1.take_tx(0).unwrap(), ends.0.take_rx(0).unwrap());
    let stop = Stop::new().unwrap();
    let output = Arc::new(Output::new(Box::new(std::io::sink()), Box::new(std::io::sink()), false, &stop));
    let config = BridgeConfig { burst: 100, wait: WaitMode::Sleep, report: None };
    let asked = stop.clone();
    let bridging = thread::spawn(move || bridge(&mut between, config, &asked, &output).unwrap());
    let (there, back) = (frames(3000, |k| 60 + usize::try_from(k % 1400).unwrap()), frames(500, |_| 60));
    let (mut sent, mut sent_back, mut got, mut got_back) = (0, 0, Vec::new(), Vec::new());
    let mut chains = (Vec::new(), Vec::new());
    let deadline = Instant::now() + Duration::from_secs(30);
    while got.len() < there.len() || got_back.len() < back.len() {
        assert!(Instant::now() < deadline, "{} of {}, {} of {}", got.len(), there.len(), got_back.len(), back.len());
        sent += put(&mut a, &there[sent..], each);
        sent_back += put(&mut c, &back[sent_back..], each);
        take(&mut b, &mut chains.0, &mut got);
        take(&mut d, &mut chains.1, &mut got_back);
        thread::yield_now();
    }
    stop.ask(0);
    let [forth, home] = bridging.join().unwrap().map(Option::unwrap);
    assert!(got == there && got_back == back, "in order, every byte");
    assert!(Mark::of(&got[7], Layout { vnet: 0, v6: false }).is_some_and(|mark| mark.sequence == 7));
    assert_eq!((forth.frames, home.frames), (3000, 500));
    assert_eq!(forth.bytes, there.iter().map(|f| f.len() as u64).sum::<u64>());
    assert_eq!((forth.by_swap, home.by_swap), (by_swap, by_swap));
}

#[test]
fn ports_of_one_region_exchange_buffers() {
    through([["cable:a{1", "cable:a}1"], ["cable:b{1", "cable:b}1"]], false, 10_000, true);
    through([["cable:a{1", "cable:a}1"], ["cable:b{1", "cable:b}1"]], false, 100, true);
}

#[test]
fn ports_of_two_regions_copy_even_into_smaller_buffers() {
    through([["cable:a{1", "cable:a}1"], ["cable:b{1", "cable:b}1"]], true, 10_000, false);
    through([["cable:a{1,mtu=4000", "cable:a}1"], ["cable:b{1,buf=512", "cable:b}1"]], true, 10_000, false);
    through([["cable:a{1,slots=64", "cable:a}1"], ["cable:b{1,slots=64", "cable:b}1"]], true, 100, false);
}

fn silent(stop: &Stop) -> Arc<Output> {
    Arc::new(Output::new(Box::new(std::io::sink()), Box::new(std::io::sink()), false, stop))
}

/// Queue k goes to queue k modulo the others' number. Frames of several slots are not mixed, though the slots of several
/// queues go to one ring that holds only some of them.
#[test]
fn ports_with_different_queues_are_bridged_and_frames_stay_whole() {
    for (left, right) in [("3", "1,slots=64"), ("1", "3"), ("3,slots=64", "2")] {
        let [left, right] = [("a", left), ("b", right)].map(|(name, queues)| {
            open_all(&[format!("cable:q{name}{{1,queues={queues}"), format!("cable:q{name}}}1,queues={queues}")])
                .unwrap()
        });
        let ([mut far_left, a], [b, mut far_right]) =
            (<[_; 2]>::try_from(left).ok().unwrap(), <[_; 2]>::try_from(right).ok().unwrap());
        let queues = far_left.info().tx_queues;
        let mut tx: Vec<_> = (0..queues).map(|q| far_left.take_tx(q).unwrap()).collect();
        let mut rx: Vec<_> =
            (0..far_right.info().rx_queues).map(|q| (far_right.take_rx(q).unwrap(), Vec::new())).collect();
        let stop = Stop::new().unwrap();
        let (output, asked) = (silent(&stop), stop.clone());
        let config = BridgeConfig { burst: 7, wait: WaitMode::Sleep, report: None };
        let bridging = thread::spawn(move || bridge(&mut [a, b], config, &asked, &output).unwrap());
        let all = frames(600, |k| 200 + usize::try_from(k % 900).unwrap());
        let parts: Vec<Vec<_>> = (0..queues).map(|q| all.iter().skip(q).step_by(queues).cloned().collect()).collect();
        let (mut sent, mut got) = (vec![0; queues], Vec::new());
        let deadline = Instant::now() + Duration::from_secs(60);
        while got.len() < all.len() {
            assert!(Instant::now() < deadline, "{} of {}", got.len(), all.len());
            for ((tx, part), sent) in tx.iter_mut().zip(&parts).zip(&mut sent) {
                *sent += put(tx, &part[*sent..], 100);
            }
            rx.iter_mut().for_each(|(rx, chain)| take(rx, chain, &mut got));
            thread::yield_now();
        }
        stop.ask(0);
        assert_eq!(bridging.join().unwrap()[0].unwrap().frames, 600);
        let (mut all, mut got) = (all, got);
        all.sort();
        got.sort();
        assert!(all == got, "every byte of each");
    }
}

/// Regression: captures have no queue the other way, so nothing was forwarded, until Ctrl-C.
#[test]
fn a_capture_is_forwarded_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| format!("pcap:{}", dir.path().join(name).display());
    let all = frames(5000, |k| 60 + usize::try_from(k % 1400).unwrap());
    let mut port = open_all(&[file("in")]).unwrap().remove(0);
    let mut tx = port.take_tx(0).unwrap();
    let mut done = 0;
    while done < all.len() {
        done += put(&mut tx, &all[done..], 10_000);
    }
    drop((port, tx));
    let stop = Stop::new().unwrap();
    let config = BridgeConfig { burst: 512, wait: WaitMode::Sleep, report: None };
    let forward = |names: [String; 2]| {
        let ports = open_all(&names).unwrap();
        bridge(&mut <[_; 2]>::try_from(ports).ok().unwrap(), config, &stop, &silent(&stop))
    };
    for (to, frames) in [(file("out"), 5000), ("null:".into(), 5000), (file("out2"), 5000)] {
        let [there, back] = forward([file("in"), to]).unwrap();
        assert!(there.unwrap().frames == frames && back.is_none());
    }
    let [back, there] = forward([format!("{},mode=w", file("out")), file("in")]).unwrap();
    assert!(there.unwrap().frames == 5000 && back.is_none());
    let mut reader = linerate_port::capture::Reader::open(&dir.path().join("out")).unwrap();
    for frame in &all {
        assert_eq!(reader.read().unwrap().unwrap().data, frame);
    }
    assert!(reader.read().unwrap().is_none());
    for (names, does) in [([file("in"), file("out")], "both read"), ([file("x"), file("y")], "both written")] {
        let line = forward(names).unwrap_err();
        assert!(line.contains(does) && line.contains("mode=w") && !line.contains('\n'), "{line}");
    }
}

/// A super-frame of TCP with this payload, and what its metadata says.
fn super_frame(payload: &[u8], gso_size: u16) -> (Vec<u8>, Meta) {
    let total = u16::try_from(40 + payload.len()).unwrap().to_be_bytes();
    let ip = [0x45, 0, total[0], total[1], 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let tcp = [0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0];
    let ethernet = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let asked = Meta {
        gso_type: 1,
        gso_size,
        hdr_len: 54,
        flags: Meta::NEEDS_CSUM,
        csum_start: 34,
        csum_offset: 16,
        ..Meta::default()
    };
    ([&ethernet[..], &ip, &tcp, payload].concat(), asked)
}

/// Segments and plain frames, over a ring that holds only some of them at a time.
#[test]
fn what_the_second_port_does_not_do_is_done_on_the_way_and_nothing_is_lost() {
    let names = ["cable:fin-a{1", "cable:fin-a}1", "cable:fin-b{1,slots=64", "cable:fin-b}1,slots=64"];
    let apart = [open_all(&names[..2]).unwrap(), open_all(&names[2..]).unwrap()];
    finishes(apart, false);
    let mut left = open_all(&names).unwrap();
    let right = left.split_off(2);
    finishes([left, right], true);
}

fn finishes([mut left, mut right]: [Vec<Port>; 2], by_swap: bool) {
    let (mut a, mut b) = (left.remove(0).take_tx(0).unwrap(), right.remove(1).take_rx(0).unwrap());
    let mut between = [left.remove(0), right.remove(0)];
    let stop = Stop::new().unwrap();
    let output = Arc::new(Output::new(Box::new(std::io::sink()), Box::new(std::io::sink()), false, &stop));
    let config = BridgeConfig { burst: 100, wait: WaitMode::Sleep, report: None };
    let asked = stop.clone();
    let bridging = thread::spawn(move || bridge(&mut between, config, &asked, &output).unwrap());
    let bodies: Vec<Vec<u8>> = (0..200u8).map(|n| vec![n; 1 + 40 * usize::from(n)]).collect();
    let tagged = Meta { vlan_tci: 7, ..Meta::default() };
    let all: Vec<(Vec<u8>, Meta)> = bodies
        .iter()
        .enumerate()
        .map(|(n, body)| {
            let (frame, asked) = super_frame(body, 1000);
            if n % 20 == 19 {
                // Nothing is asked for.
                (frame[..60.min(frame.len())].to_vec(), Meta::default())
            } else if n % 20 == 9 {
                (frame[..60.min(frame.len())].to_vec(), tagged)
            } else {
                (frame, asked)
            }
        })
        .collect();
    let (mut sent, mut got, mut chain) = (0, Vec::new(), Vec::new());
    let wanted: usize =
        all.iter().map(|(frame, meta)| if meta.gso_size == 0 { 1 } else { (frame.len() - 54).div_ceil(1000) }).sum();
    let deadline = Instant::now() + Duration::from_secs(30);
    while got.len() < wanted {
        assert!(Instant::now() < deadline, "{} of {wanted}", got.len());
        if let Some((frame, meta)) = all.get(sent) {
            let slots: Vec<&[u8]> = frame.chunks(1700).collect();
            let n = u32::try_from(slots.len()).unwrap();
            let mut batch = a.ring.reserve(n);
            if batch.len() == n {
                for (i, part) in (0..).zip(slots) {
                    assert!(batch.put(i, part));
                    batch.set(i, part.len(), if i + 1 < n { flags::MOREFRAG } else { 0 });
                }
                if *meta != Meta::default() {
                    batch.set_meta(0, *meta);
                }
                batch.commit(n);
                sent += 1;
            }
        }
        a.sync();
        take(&mut b, &mut chain, &mut got);
        thread::yield_now();
    }
    stop.ask(0);
    let [forth, _] = bridging.join().unwrap().map(Option::unwrap);
    let mut came = got.iter();
    for (frame, meta) in &all {
        if meta.vlan_tci == 7 {
            assert_eq!(*came.next().unwrap(), [&frame[..12], &[0x81, 0, 0, 7], &frame[12..]].concat());
            continue;
        }
        if *meta == Meta::default() {
            assert_eq!(came.next().unwrap(), frame);
            continue;
        }
        for part in frame[54..].chunks(1000) {
            let segment = came.next().unwrap();
            assert_eq!(segment[54..], *part);
            assert_eq!(linerate_offload::verify_checksums(segment, &[]), linerate_offload::Verdict::Good);
        }
    }
    assert_eq!((forth.frames, forth.dropped.total(), forth.refused.total()), (wanted as u64, 0, 0));
    assert_eq!(forth.by_swap, by_swap);
    assert_eq!((forth.finished.tso, forth.finished.segments), (180, wanted as u64 - 20));
}
