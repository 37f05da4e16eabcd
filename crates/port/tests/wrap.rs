//! Wrappers: a trace shows every frame, faults are exact and the same in every run.

#![expect(clippy::cast_possible_truncation, reason = "numbers of tests are small")]

use linerate_port::capture::Reader;
use linerate_port::{
    COMMON, DropReason, KINDS, Link, Port, RxQueue, Sleeper, TxQueue, WRAPPERS, open, open_all, option_rows,
};
use linerate_ring::{Meta, flags};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A frame that says which it is, in its first four bytes; parts of at most `per` bytes.
fn put(tx: &mut TxQueue, frame: &[u8], per: usize) -> bool {
    let slots = frame.len().div_ceil(per) as u32;
    let mut batch = tx.ring.reserve(slots);
    if batch.len() < slots {
        return false;
    }
    for (i, part) in (0..).zip(frame.chunks(per)) {
        assert!(batch.put(i, part));
        batch.set(i, part.len(), if i + 1 < slots { flags::MOREFRAG } else { 0 });
        if i == 0 {
            batch.set_meta(0, Meta { vlan_tci: 7, ..Meta::default() });
        }
    }
    batch.commit(slots);
    true
}

fn numbered(n: u32, len: usize) -> Vec<u8> {
    let mut frame = vec![0x5a; len];
    frame[..4].copy_from_slice(&n.to_le_bytes());
    frame
}

fn number(frame: &[u8]) -> u32 {
    u32::from_le_bytes(frame[..4].try_into().unwrap())
}

fn take(rx: &mut RxQueue) -> Vec<Vec<u8>> {
    rx.sync();
    let n = rx.ring.available();
    let mut batch = rx.ring.batch(n);
    let (mut frames, mut frame) = (Vec::new(), Vec::new());
    for i in 0..n {
        let Some((part, word)) = batch.frame(i) else { continue };
        frame.extend(part.to_vec());
        if word & flags::MOREFRAG == 0 {
            frames.push(std::mem::take(&mut frame));
        }
    }
    batch.release(n);
    frames
}

fn counters(port: &Port) -> BTreeMap<String, u64> {
    port.raw_counters().into_iter().collect()
}

struct Run {
    frames: Vec<Vec<u8>>,
    /// As counted by the transmit queue: sent, dropped by faults.
    sent: u64,
    dropped: u64,
    raw: BTreeMap<String, u64>,
}

/// Sends `n` frames of `len` bytes in slots of `per` through a cable with faults, until nothing is outstanding.
/// Runs `n` frames through faults. If frames are reordered, all must go in one batch: else a frame might wait for the
/// next one for too long.
fn run(faults: &str, n: u32, len: usize, per: usize, batch: u32) -> Run {
    let mut ports = open_all(&[format!("cable:f{{1,slots=16K,faults={faults}"), "cable:f}1".into()]).unwrap();
    assert!(ports[0].info().path.contains(&format!("with faults {faults}")), "{}", ports[0].info().path);
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    let (mut frames, mut next) = (Vec::new(), 0);
    let deadline = Instant::now() + Duration::from_secs(60);
    while next < n || tx.ring.outstanding() > 0 {
        for _ in 0..batch {
            if next < n && put(&mut tx, &numbered(next, len), per) {
                next += 1;
            }
        }
        tx.sync();
        frames.extend(take(&mut rx));
        assert!(Instant::now() < deadline, "{faults}: {} outstanding", tx.ring.outstanding());
    }
    tx.sync();
    frames.extend(take(&mut rx));
    let count = tx.counters();
    assert_eq!(count.dropped.total(), count.dropped.of(DropReason::Fault));
    Run { sent: count.frames, dropped: count.dropped.of(DropReason::Fault), raw: counters(&ports[0]), frames }
}

/// Time at which an idle queue wants to be synced again.
fn due(queue: &mut TxQueue) -> Option<Instant> {
    let until = queue.fall_asleep().expect("nothing to do").until;
    queue.wake_up();
    until
}

#[test]
fn each_wrapper_is_an_option_of_every_kind() {
    for kind in KINDS {
        let keys: Vec<_> = option_rows(kind).map(|row| row.key).collect();
        for key in WRAPPERS.iter().map(|w| w.option.key).chain(COMMON.iter().map(|row| row.key)) {
            assert_eq!(keys.iter().filter(|k| **k == key).count(), 1, "{key} of {}", kind.name);
        }
    }
    let line = open("null:,faults=lose:1").err().unwrap().to_string();
    assert!(line.contains("no such fault") && !line.contains('\n'), "{line}");
}

#[test]
fn dropped_frames_are_missing_and_counted() {
    for (per, len) in [(1500, 60), (100, 1500)] {
        let run = run("drop:0.1/seed:7", 5000, len, per, 64);
        let missing = 5000 - run.frames.len() as u64;
        assert_eq!((run.dropped, run.raw["fault_dropped"], run.sent), (missing, missing, 5000 - missing));
        assert!((400..600).contains(&missing), "{missing}");
        assert!(run.frames.windows(2).all(|two| number(&two[0]) < number(&two[1])), "in order");
        assert!(run.frames.iter().all(|frame| *frame == numbered(number(frame), len)));
    }
    assert_eq!(run("drop:1", 100, 60, 1500, 10).frames.len(), 0);
    assert_eq!(run("drop:0", 100, 60, 1500, 10).frames.len(), 100);
}

#[test]
fn duplicated_frames_come_twice_and_are_counted() {
    for (per, len) in [(1500, 60), (100, 1500)] {
        let run = run("dup:0.05", 5000, len, per, 64);
        let twice = run.frames.windows(2).filter(|two| two[0] == two[1]).count() as u64;
        assert_eq!((run.frames.len() as u64, run.sent), (5000 + twice, 5000 + twice));
        assert_eq!(run.raw["fault_duplicated"], twice);
        assert!(twice > 100);
    }
}

#[test]
fn corrupted_frames_have_one_wrong_bit_and_are_counted() {
    for (per, len) in [(1500, 60), (100, 1500)] {
        let run = run("corrupt:0.1/dup:0.5", 3000, len, per, 64);
        let wrong =
            |frame: &Vec<u8>, n| -> u32 { frame.iter().zip(numbered(n, len)).map(|(a, b)| (a ^ b).count_ones()).sum() };
        // The frames are in order, so each is compared with the number that it should have.
        let (mut n, mut bad, mut i) = (0, 0, 0);
        while i < run.frames.len() {
            let bits = wrong(&run.frames[i], n);
            assert!(bits <= 1);
            bad += u64::from(bits);
            // A second copy is never damaged.
            i += if run.frames.get(i + 1).is_some_and(|next| wrong(next, n) == 0) { 2 } else { 1 };
            n += 1;
        }
        assert_eq!((n, bad), (3000, run.raw["fault_corrupted"]));
        assert!((200..400).contains(&bad), "{bad}");
    }
    let port = open("null:,faults=corrupt:0.1").unwrap();
    assert!(!port.info().caps.checksum && port.info().caps.scatter);
}

#[test]
fn reordered_frames_come_after_the_next_one_and_are_counted() {
    for faults in ["reorder:0.1", "reorder:1", "reorder:0.3/drop:0.2/dup:0.2"] {
        let run = run(faults, 5000, 60, 1500, 5000);
        let mut order: Vec<_> = run.frames.iter().map(|frame| number(frame)).collect();
        order.dedup();
        let overtaken = order.windows(2).filter(|two| two[0] > two[1]).count() as u64;
        // The last frame may have waited in vain.
        assert_eq!(overtaken, run.raw["fault_reordered"], "{faults}");
        assert!(run.raw["fault_in_order"] <= 1 && overtaken > 300, "{faults}: {overtaken}");
        order.sort_unstable();
        order.dedup();
        assert_eq!(order.len() as u64, 5000 - run.dropped);
    }
}

#[test]
fn a_frame_that_nobody_overtakes_leaves_all_the_same() {
    let run = run("reorder:1", 1, 60, 1500, 1);
    assert_eq!((run.frames.len(), run.raw["fault_reordered"], run.raw["fault_in_order"]), (1, 0, 1));
}

#[test]
fn delayed_frames_are_not_early() {
    let delay = Duration::from_millis(200);
    let mut ports = open_all(&["cable:d{1,faults=delay:200ms", "cable:d}1"]).unwrap();
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    let begin = Instant::now();
    for n in 0..3 {
        assert!(put(&mut tx, &numbered(n, 60), 1500));
    }
    tx.sync();
    let at = due(&mut tx).unwrap();
    assert!(at >= begin + delay && at <= Instant::now() + delay);
    let mut got = 0;
    while got < 3 {
        tx.sync();
        let new = take(&mut rx).len();
        assert!(new == 0 || begin.elapsed() >= delay);
        assert!(tx.ring.outstanding() > 0 || new > 0, "what is on its way is outstanding");
        got += new;
        assert!(begin.elapsed() < Duration::from_secs(30));
    }
    rx.sync();
    tx.sync();
    assert_eq!((tx.ring.outstanding(), due(&mut tx), counters(&ports[0])["fault_delayed"]), (0, None, 3));
}

#[test]
fn a_seed_gives_the_same_faults_in_every_run() {
    let of = |faults: &str, batch| run(faults, 2000, 60, 1500, batch);
    let faults = "drop:0.1/dup:0.1/corrupt:0.1/reorder:0.1";
    let (a, b) = (of(&format!("{faults}/seed:7"), 2000), of(&format!("{faults}/seed:7"), 2000));
    assert_eq!((&a.frames, &a.raw), (&b.frames, &b.raw));
    assert_ne!(a.frames, of(&format!("{faults}/seed:8"), 2000).frames);
    // Batches of another size change nothing, and one fault does not change which frames have the others.
    let (c, d) = (of("drop:0.1/dup:0.1/corrupt:0.1/seed:7", 3), of("drop:0.1/dup:0.1/corrupt:0.1/seed:7", 500));
    assert_eq!((&c.frames, &c.raw), (&d.frames, &d.raw));
    let sorted = |mut frames: Vec<Vec<u8>>| {
        frames.sort_unstable();
        frames
    };
    assert_eq!(sorted(a.frames), sorted(c.frames));
}

#[test]
fn the_ledger_closes_behind_a_ring_that_fills() {
    let mut ports = open_all(&["cable:l{1,slots=64,faults=dup:0.5/drop:0.2/reorder:0.2", "cable:l}1"]).unwrap();
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    let mut committed = 0;
    for _ in 0..200 {
        while put(&mut tx, &numbered(committed, 60), 1500) {
            committed += 1;
        }
        tx.sync();
    }
    assert!(committed < 300, "nobody reads, so nothing goes on");
    // In flight, by then: what is in the ring behind has been copied, and its slots are not back.
    assert!(tx.ring.outstanding() > 0);
    let mut got = 0;
    let deadline = Instant::now() + Duration::from_secs(30);
    while tx.ring.outstanding() > 0 {
        got += take(&mut rx).len() as u64;
        tx.sync();
        assert!(Instant::now() < deadline);
    }
    got += take(&mut rx).len() as u64;
    let (count, raw) = (tx.counters(), counters(&ports[0]));
    assert_eq!(u64::from(committed) + raw["fault_duplicated"], count.frames + count.dropped.total());
    assert_eq!(got, count.frames);

    // The other end goes while frames are on their way: those are counted too.
    for n in 0..50 {
        assert!(put(&mut tx, &numbered(n, 60), 1500));
    }
    tx.sync();
    drop((rx, ports.pop()));
    tx.sync();
    assert_eq!(tx.link(), Link::Down);
    assert!(tx.counters().dropped.of(DropReason::PeerDied) > 0);
}

// ---- trace ----

/// Reads a trace with tshark: direction (1 in, 2 out) and length of each frame.
fn tshark(path: &Path) -> Option<Vec<(u8, usize)>> {
    let fields = ["-e", "frame.packet_flags_direction", "-e", "frame.len", "-e", "_ws.malformed"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-T", "fields"]).args(fields).stderr(Stdio::null());
    let Ok(output) = command.output() else {
        linerate_skip::skip!("tshark is not installed");
        return None;
    };
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| {
        let fields: Vec<_> = line.split('\t').collect();
        assert_eq!(fields[2], "", "malformed");
        let direction = fields[0].trim_start_matches("0x");
        (u8::from_str_radix(direction, 16).unwrap(), fields[1].parse().unwrap())
    });
    Some(lines.collect())
}

fn traced(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = Reader::open(path).unwrap();
    let mut all = Vec::new();
    while let Some(record) = reader.read().unwrap() {
        all.push(record.data.to_vec());
    }
    assert_eq!(reader.counts().bad, 0);
    all
}

#[test]
fn a_trace_shows_every_frame_both_ways_with_its_direction() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.pcapng");
    let names = [format!("cable:t{{1,trace={}", path.display()), "cable:t}1".into()];
    let mut ports = open_all(&names).unwrap();
    assert!(ports[0].info().notes[0].contains("traced to"));
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[0].take_rx(0).unwrap());
    let (mut far_tx, mut far_rx) = (ports[1].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    let mut expected = Vec::new();
    for n in 0..200 {
        // Every third a chain.
        let (frame, per) = (numbered(n, 100 + n as usize), if n % 3 == 0 { 64 } else { 1500 });
        if n % 2 == 0 {
            assert!(put(&mut tx, &frame, per));
            tx.sync();
            assert_eq!(take(&mut far_rx), std::slice::from_ref(&frame), "the far end gets it as ever");
            expected.push((2, frame));
        } else {
            assert!(put(&mut far_tx, &frame, per));
            far_tx.sync();
            assert_eq!(take(&mut rx), std::slice::from_ref(&frame));
            expected.push((1, frame));
        }
    }
    rx.sync();
    tx.sync();
    assert_eq!(counters(&ports[0])["trace_frames"], 200);
    assert_eq!((counters(&ports[0])["trace_missed"], ports[0].trouble()), (0, None));
    // Each sync is flushed, so all is there while the port is open; another program may look.
    let now = dir.path().join("copy");
    fs::copy(&path, &now).unwrap();
    assert_eq!(traced(&now), expected.iter().map(|(_, frame)| frame.clone()).collect::<Vec<_>>());
    if let Some(theirs) = tshark(&now) {
        assert_eq!(theirs, expected.iter().map(|(way, frame)| (*way, frame.len())).collect::<Vec<_>>());
    }
}

#[test]
fn frames_that_the_port_does_not_take_at_once_are_traced_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.pcapng");
    let names = [format!("cable:o{{1,rate=1K,slots=64,trace={}", path.display()), "cable:o}1".into()];
    let mut ports = open_all(&names).unwrap();
    let mut tx = ports[0].take_tx(0).unwrap();
    let mut n = 0;
    while put(&mut tx, &numbered(n, 60), 1500) {
        n += 1;
    }
    for _ in 0..1000 {
        tx.sync();
    }
    assert!(tx.counters().frames < n.into(), "the wire is slow");
    assert_eq!(counters(&ports[0])["trace_frames"], u64::from(n));
    drop((tx, ports));
    assert_eq!(traced(&path).iter().map(|frame| number(frame)).collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
}

#[test]
fn a_trace_shows_what_faults_left() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.pcapng");
    let names = [format!("cable:w{{1,faults=drop:0.3/dup:0.3,trace={}", path.display()), "cable:w}1".into()];
    let mut ports = open_all(&names).unwrap();
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    for n in 0..300 {
        assert!(put(&mut tx, &numbered(n, 60), 1500));
    }
    tx.sync();
    let got = take(&mut rx);
    assert!(got.len() as u64 != 300 - tx.counters().dropped.total(), "there are duplicates");
    assert!(Reader::open(&path).err().unwrap().to_string().contains("is being read or written"));
    drop((tx, ports));
    assert_eq!(traced(&path), got);
}

#[test]
fn a_trace_that_fails_costs_no_frame() {
    let dir = tempfile::tempdir().unwrap();
    assert!(open("null:,trace=/dev/full").err().unwrap().to_string().contains("trace=/dev/full cannot be written"));
    let path = dir.path().join("pipe");
    if !Command::new("mkfifo").arg(&path).status().is_ok_and(|status| status.success()) {
        linerate_skip::skip!("no mkfifo");
        return;
    }
    let reader = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let names = [format!("cable:x{{1,trace={}", path.display()), "cable:x}1".into()];
    let mut ports = open_all(&names).unwrap();
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    let mut got = 0;
    let mut send = |tx: &mut TxQueue, n| {
        for i in 0..n {
            assert!(put(tx, &numbered(i, 1500), 1500));
            tx.sync();
            got += take(&mut rx).len() as u64;
        }
        got
    };
    // A pipe nobody empties: the trace misses frames, the cable none.
    assert_eq!(send(&mut tx, 1000), 1000);
    let missed = counters(&ports[0])["trace_missed"];
    assert!(missed > 0 && ports[0].trouble().is_none());
    // A broken one.
    drop(reader);
    assert_eq!(send(&mut tx, 1000), 2000);
    let raw = counters(&ports[0]);
    assert_eq!(raw["trace_frames"] + raw["trace_missed"], 2000);
    assert!(ports[0].trouble().unwrap().contains("Broken pipe"));
    assert_eq!((tx.link(), tx.counters().frames, tx.counters().dropped.total()), (Link::Up, 2000, 0));
}

/// Faults on an end whose rings lie in memory that another process maps, made by this end or, longer, by the other.
#[test]
fn faults_fit_an_end_that_another_process_joins_or_has_made() {
    let id = std::process::id();
    for (left, right) in [(",faults=drop:0.5", ""), (",slots=4096", ",faults=drop:0.5")] {
        let mut near = open(&format!("cable:wrapped-{id}{{1{left}")).unwrap();
        let mut far = open(&format!("cable:wrapped-{id}}}1{right}")).unwrap();
        let (from, to) = if right.is_empty() { (&mut near, &mut far) } else { (&mut far, &mut near) };
        let (mut tx, mut rx) = (from.take_tx(0).unwrap(), to.take_rx(0).unwrap());
        let deadline = Instant::now() + Duration::from_secs(60);
        while from.link() == Link::Down || to.link() == Link::Down {
            assert!(Instant::now() < deadline, "link down");
        }
        let (mut next, mut came) = (0, 0);
        while next < 2000 || tx.ring.outstanding() > 0 {
            next += u32::from(next < 2000 && put(&mut tx, &numbered(next, 60), 60));
            tx.sync();
            came += take(&mut rx).len() as u64;
            assert!(Instant::now() < deadline, "{} outstanding", tx.ring.outstanding());
        }
        came += take(&mut rx).len() as u64;
        let dropped = tx.counters().dropped.of(DropReason::Fault);
        assert_eq!(came + dropped, 2000, "{left} {right}");
        assert!((800..1200).contains(&dropped), "{dropped}");
    }
}
