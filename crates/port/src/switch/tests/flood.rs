//! Frames for several ports.

use super::*;
use crate::switch::flood::Share;
use std::time::{Duration, Instant};

/// Frames of several lengths to everybody, as runs, to ports that take them in different ways.
#[test]
fn a_run_of_flooded_frames_arrives_in_order_and_is_counted_port_by_port() {
    let mut b = Bench::new(&[("a", Policy::default()), ("b", Policy::default()), ("full", Policy::default())]);
    b.add("short", Policy::default(), 1, 200);
    b.add("trunk", vlans("9+t1"), 1, 1500);
    b.switch.mirror("b", "m", Direction::Out);
    b.add("m", Policy::default(), 1, 1500);
    let long = |n: u32, len: usize| {
        let mut bytes = frame(ALL, mac(1));
        bytes.resize(len, 0x77);
        bytes[20..24].copy_from_slice(&n.to_be_bytes());
        bytes
    };
    let mut all = Vec::new();
    for round in 0..5u32 {
        let burst: Vec<_> = (0..40).map(|n| long(round << 8 | n, if n % 10 == 9 { 1514 } else { 60 })).collect();
        b.burst("a", &burst);
        assert!(b.receive("b") == burst && b.receive("m") == burst, "round {round}");
        let wanted: Vec<_> = burst.iter().filter(|frame| frame.len() < 1000).cloned().collect();
        assert!(b.receive("short") == wanted);
        let tags = |bytes: &Vec<u8>| [&bytes[..12], &[0x81, 0, 0, 1], &bytes[12..]].concat();
        assert!(b.receive("trunk") == burst.iter().map(tags).collect::<Vec<_>>());
        all.extend(burst);
    }
    let bytes: u64 = all.iter().map(|frame| frame.len() as u64).sum();
    let [from, full, short] = ["a", "full", "short"].map(|name| b.count(name));
    assert_eq!((from.received, from.flooded, from.copies, from.received_bytes), (200, 200, 1000, bytes));
    assert_eq!((full.sent, full.dropped.of(DropReason::NoRoom), full.priorities[0].dropped), (63, 137, 137));
    assert_eq!((short.sent, short.dropped.of(DropReason::TooLong)), (180, 20));
    assert!(b.receive("full") == all[..63]);
    b.ledger();
}

/// A run ends where the head changes: its source, its tag, its destination.
#[test]
fn neighbours_of_a_run_go_their_own_ways() {
    let mut b = Bench::plain(&["a", "b", "c"]);
    b.send("c", &frame(ALL, mac(3)));
    b.arrived(["a", "b"]);
    let mut chain = vec![frame(ALL, mac(1)); 3];
    chain.extend([tagged(ALL, mac(1), 0x2005), tagged(ALL, mac(1), 0x2005), tagged(ALL, mac(1), 0x6005)]);
    chain.extend([frame(ALL, mac(7)), frame(mac(3), mac(1)), frame(mac(9), mac(1)), frame(ALL, mac(1))]);
    b.burst("a", &chain);
    let without: Vec<_> = chain.iter().filter(|frame| frame[..6] != mac(3)).cloned().collect();
    assert!(b.receive("b") == without && b.receive("c") == chain);
    assert_eq!((b.count("a").flooded, b.count("a").copies), (9, 19));
    let known = b.switch.table().known;
    assert_eq!(known, 4, "1 twice, 3 and 7");
    assert_eq!(b.count("b").priorities.map(|priority| priority.sent)[..4], [7, 2, 0, 1], "with what c said first");
    b.ledger();
}

/// Frames that wait for their share are neither lost nor overtaken.
#[test]
fn floods_beside_others_lose_nothing_and_wait_in_their_ring() {
    let mut b = Bench::plain(&["a", "b", "c", "d", "e"]);
    b.send("b", &frame(ALL, mac(2)));
    b.arrived(["a", "b", "c", "d", "e"]);
    let mut numbers = [0u32; 2];
    let numbered = |dst, src, n: u32| {
        let mut bytes = frame(dst, src);
        bytes[20..24].copy_from_slice(&n.to_be_bytes());
        bytes
    };
    let (mut got, mut deferred) = ([Vec::new(), Vec::new()], 0);
    for _ in 0..300 {
        for (name, which, dst, src) in [("a", 0, mac(2), mac(1)), ("c", 1, ALL, mac(3))] {
            if numbers[which] as usize > got[which].len() + 20 {
                // A flood finds no room with what is beside it if it has waited for long, as the machine paused amid the last one.
                continue;
            }
            let end = b.end(name);
            end.tx.sync();
            let mut batch = end.tx.ring.reserve(20);
            let n = batch.len();
            for i in 0..n {
                assert!(batch.put(i, &numbered(dst, src, numbers[which])));
                numbers[which] += 1;
            }
            batch.commit(n);
            end.tx.sync();
        }
        b.switch.poll(b.now);
        let sources = b.switch.members.iter().flatten().flat_map(|member| &member.sources);
        deferred += sources.filter(|source| source.state.deferred).count();
        for bytes in b.receive("b") {
            got[usize::from(bytes[11] == 3)].push(u32::from_be_bytes(bytes[20..24].try_into().unwrap()));
        }
        b.arrived(["a", "d", "e"]);
    }
    // What is left has all the time once others have sent nothing for a while, however long a pause of the machine was amid a flood.
    for _ in 0..100 {
        b.now += SECOND;
        b.switch.poll(b.now);
        for bytes in b.receive("b") {
            got[usize::from(bytes[11] == 3)].push(u32::from_be_bytes(bytes[20..24].try_into().unwrap()));
        }
        b.arrived(["a", "d", "e"]);
    }
    for (got, sent) in got.iter().zip(numbers) {
        assert!(got.iter().copied().eq(0..sent), "{} of {sent}", got.len());
    }
    assert!(deferred > 0, "floods waited for their share");
    assert_eq!(b.ledger().dropped.total(), 0);
}

#[test]
fn floods_have_half_of_the_time_beside_others_and_all_of_it_alone() {
    const MS: u64 = 1_000_000;
    // Far more than passes between two lines of this test.
    let long = Duration::from_secs(3600);
    let ago = |time| Instant::now().checked_sub(time).unwrap();
    let mut share = Share::default();
    assert!(share.admits(1, 0), "outside of turns");
    share.begin();
    assert!(share.admits(1, 0));
    share.flooded(10, ago(long));
    assert!(!share.admits(1, 0), "enough for one turn");
    share.end(0);
    share.begin();
    share.turn_of(1);
    assert!(share.admits(1, 0), "nobody else is there");
    share.others(5);
    assert!(!share.admits(1, 0));
    share.end(0);
    // In debt: others' time pays, and not any other.
    share.begin();
    share.turn_of(1);
    assert!(!share.admits(1, 0) && !share.admits(2, 0));
    share.has_lasted(2 * long);
    share.others(1);
    share.end(0);
    share.begin();
    assert!(!share.admits(2, 0), "1 waits longer");
    share.turn_of(1);
    assert!(share.admits(1, 0));
    share.flooded(1, ago(long));
    share.end(0);
    share.begin();
    assert!(!share.admits(1, 0) && !share.admits(1, MS));
    assert!(share.admits(1, MS + 1), "others have said nothing for so long");
    assert_eq!(share.frames(), 11);
    // A port that has gone waits no more.
    share.end(0);
    share.begin();
    share.forget(1);
    assert!(!share.admits(2, 0));
    share.forget(2);
    share.has_lasted(2 * long);
    share.end(0);
    share.begin();
    assert!(share.admits(3, 0));
}
