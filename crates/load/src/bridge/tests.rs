use super::*;
use crate::frame::{Flow, FlowRange, Layout, Mark, Payload, Template};
use linerate_port::open_all;
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
    let [forth, home] = bridging.join().unwrap();
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

#[test]
fn ports_with_different_queues_are_refused() {
    let mut ports = open_all(&["null:,queues=2", "null:"]).unwrap();
    let (b, a) = (ports.pop().unwrap(), ports.pop().unwrap());
    let stop = Stop::new().unwrap();
    let output = Arc::new(Output::new(Box::new(std::io::sink()), Box::new(std::io::sink()), false, &stop));
    let config = BridgeConfig { burst: 1, wait: WaitMode::Sleep, report: None };
    let line = bridge(&mut [a, b], config, &stop, &output).unwrap_err();
    assert!(line.contains("2 queues") && !line.contains('\n'), "{line}");
}
