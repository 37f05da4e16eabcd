//! Capture files as ports.

use super::*;
use linerate_port::Sleeper;

/// Takes whole frames out of a receive ring.
fn take(rx: &mut RxQueue) -> Vec<Vec<u8>> {
    rx.sync();
    let n = rx.ring.available();
    let mut batch = rx.ring.batch(n);
    let (mut frames, mut frame) = (Vec::new(), Vec::new());
    for i in 0..n {
        let (part, flags) = batch.frame(i).unwrap();
        frame.extend(part.to_vec());
        if flags & linerate_ring::flags::MOREFRAG == 0 {
            frames.push(std::mem::take(&mut frame));
        }
    }
    assert!(frame.is_empty(), "only whole frames are delivered");
    batch.release(n);
    frames
}

/// Everything until the link goes down.
pub(super) fn drain(port: &mut Port) -> (Vec<Vec<u8>>, RxQueue) {
    let mut rx = port.take_rx(0).unwrap();
    let mut all = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    while rx.link() == Link::Up {
        all.extend(take(&mut rx));
        assert!(Instant::now() < deadline, "no end after {} frames", all.len());
    }
    assert_eq!(port.link(), Link::Down);
    (all, rx)
}

/// Commits a frame, as a chain if it must be.
fn put(tx: &mut TxQueue, frame: &[u8]) {
    let per = tx.ring.usable();
    let slots = frame.len().div_ceil(per) as u32;
    let mut batch = tx.ring.reserve(slots);
    assert_eq!(batch.len(), slots);
    for (i, part) in (0..).zip(frame.chunks(per)) {
        assert!(batch.put(i, part));
        if i + 1 < slots {
            batch.set(i, part.len(), linerate_ring::flags::MOREFRAG);
        }
    }
    batch.commit(slots);
}

#[test]
fn captures_pass_through_ports_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    // Buffers that take each frame whole, and some that make chains of all.
    for options in ["", ",buf=4096", ",buf=512"] {
        for (name, n) in GOLDEN {
            let (from, to) = (golden(name), dir.path().join("copy.pcap"));
            let names = [format!("pcap:{}{options}", from.display()), format!("pcap:{},mode=w{options}", to.display())];
            let mut ports = open_all(&names).unwrap();
            assert_eq!((ports[0].info().tx_queues, ports[1].info().rx_queues), (0, 0));
            let (mut rx, mut tx) = (ports[0].take_rx(0).unwrap(), ports[1].take_tx(0).unwrap());
            while rx.link() == Link::Up {
                for frame in take(&mut rx) {
                    put(&mut tx, &frame);
                }
                tx.sync();
                assert_eq!(tx.ring.outstanding(), 0);
            }
            let bytes = |path: &Path| -> Vec<Vec<u8>> {
                read_all(&mut Reader::open(path).unwrap()).unwrap().into_iter().map(|(_, _, data)| data).collect()
            };
            let count = tx.counters();
            assert_eq!((count.frames, count.dropped.total(), rx.counters().dropped.total()), (n as u64, 0, 0));
            drop((ports, tx));
            assert_eq!(bytes(&from), bytes(&to), "{name}");
            assert_eq!(count.bytes, bytes(&to).iter().map(|f| f.len() as u64).sum::<u64>());
            tshark(&to);
        }
    }
}

#[test]
fn nothing_is_overwritten_or_read_by_accident() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pcap");
    let name = format!("pcap:{}", path.display());
    assert!(open(&format!("{name},mode=r")).err().unwrap().to_string().contains("No such file"));
    assert!(!path.exists());

    let mut port = open(&name).unwrap();
    assert_eq!((port.info().tx_queues, port.info().rx_queues), (1, 0), "what is not there is written");
    for other in [name.clone(), format!("{name},mode=w"), format!("null:,trace={}", path.display())] {
        assert!(open(&other).err().unwrap().to_string().contains("is being read or written"), "{other}");
    }
    let mut tx = port.take_tx(0).unwrap();
    put(&mut tx, &FRAME);
    tx.sync();
    drop((port, tx));

    let mut port = open(&name).unwrap();
    assert_eq!((port.info().tx_queues, port.info().rx_queues), (0, 1), "what is there is read");
    assert!(open(&format!("{name},mode=w")).err().unwrap().to_string().contains("is being read or written"));
    assert!(open(&format!("{name},out={}", path.display())).is_err());
    assert_eq!(drain(&mut port).0, [FRAME.to_vec()]);
    drop(port);

    let out = dir.path().join("out.pcap");
    let mut port = open(&format!("{name},out={}", out.display())).unwrap();
    assert_eq!((port.info().tx_queues, port.info().rx_queues), (1, 1));
    let (mut tx, mut rx) = (port.take_tx(0).unwrap(), port.take_rx(0).unwrap());
    put(&mut tx, &take(&mut rx)[0]);
    tx.sync();
    assert_eq!((rx.link(), tx.link(), port.link()), (Link::Down, Link::Up, Link::Up));
    drop((port, tx, rx));
    assert_eq!(drain(&mut open(&format!("pcap:{}", out.display())).unwrap()).0, [FRAME.to_vec()]);

    drop(open(&format!("{name},mode=w")).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().len(), 24, "asked for, it is overwritten");
}

#[test]
fn options_that_contradict_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("pcap:{}", golden(GOLDEN[0].0).display());
    let new = format!("pcap:{}", dir.path().join("new").display());
    for (name, word) in [
        (format!("{name},mode=x"), "mode=r or mode=w"),
        (format!("{name},speed=0"), "0.001 to 1000"),
        (format!("{name},speed=fast"), "0.001 to 1000"),
        (format!("{name},speed=2,pace=off"), "contradict"),
        (format!("{name},pace=yes"), "pace=on or pace=off"),
        (format!("{name},loop=0"), "loop=0 will not do"),
        (format!("{new},loop=2"), "loop= is for a file that is read"),
        (format!("{name},mode=w,out=x"), "out= is for a file that is read"),
        (format!("{name}@1,mode=r"), "No such file"),
    ] {
        let line = open(&name).err().unwrap().to_string();
        assert!(line.contains(word) && !line.contains('\n'), "{name}: {line}");
    }
    assert!(!dir.path().join("new").exists());
}

#[test]
fn files_are_repeated_and_frames_without_room_are_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pcap");
    write_all(&path, &[(0, 61, FRAME.to_vec()), (1, 70_000, vec![1; 70_000])]);
    // 63 slots of 256 bytes take no 70000.
    let mut port = open(&format!("pcap:{},loop=3,slots=64,buf=512,mtu=64", path.display())).unwrap();
    let (frames, rx) = drain(&mut port);
    assert_eq!(frames, vec![FRAME.to_vec(); 3]);
    assert_eq!(rx.counters().dropped.of(DropReason::TooLong), 3);
    assert_eq!(
        port.raw_counters(),
        [("capture_truncated".into(), 0), ("capture_other_interfaces".into(), 0), ("capture_repeats".into(), 2)]
    );

    let mut port = open(&format!("pcap:{},loop=forever", path.display())).unwrap();
    let mut rx = port.take_rx(0).unwrap();
    let n: usize = (0..100).map(|_| take(&mut rx).len()).sum();
    assert!(n > 1000 && rx.link() == Link::Up && rx.fall_asleep().is_none());

    write_all(&dir.path().join("empty.pcap"), &[]);
    let mut port = open(&format!("pcap:{},loop=forever", dir.path().join("empty.pcap").display())).unwrap();
    assert_eq!(drain(&mut port).0.len(), 0, "nothing is not repeated for ever");
}

#[test]
fn the_original_timing_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pcap");
    let write = |gaps: [u64; 4]| write_all(&path, &gaps.map(|t| (1_700_000_000_000_000_000 + t, 61, FRAME.to_vec())));
    let open = || open(&format!("pcap:{},speed=2", path.display())).unwrap().take_rx(0).unwrap();
    // Gaps that no delay of this thread can be taken for.
    write([0, 3_000_000_000_000, 3_000_000_000_001, 3_000_000_000_002]);
    let mut rx = open();
    let begin = Instant::now();
    assert_eq!(take(&mut rx).len(), 1);
    let (due, half) = (rx.fall_asleep().unwrap().until.unwrap(), Duration::from_secs(1500));
    assert!(due >= begin + half && due <= Instant::now() + half, "half the gap after the first frame");
    assert_eq!((take(&mut rx).len(), rx.fall_asleep().unwrap().until, rx.link()), (0, Some(due), Link::Up));
    drop(rx);
    // Gaps that pass.
    write([0, 40_000_000, 80_000_000, 80_000_001]);
    let mut rx = open();
    let (begin, mut n) = (Instant::now(), 0);
    while rx.link() == Link::Up {
        let due = rx.fall_asleep().and_then(|sleep| sleep.until).unwrap_or(begin);
        let new = take(&mut rx).len();
        assert!(new == 0 || Instant::now() >= due, "not before its time");
        n += new;
        assert!(begin.elapsed() < Duration::from_secs(30));
    }
    assert_eq!(n, 4);
    assert!(begin.elapsed() >= Duration::from_nanos(40_000_000));
}

#[test]
fn frames_that_cannot_be_written_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let mut port = open(&format!("pcap:{}", dir.path().join("a").display())).unwrap();
    let mut tx = port.take_tx(0).unwrap();
    let mut batch = tx.ring.reserve(70);
    for i in 0..66 {
        assert!(batch.put(i, &FRAME));
        batch.set(i, 61, if i < 65 { linerate_ring::flags::MOREFRAG } else { 0 });
    }
    assert!(batch.put(66, &FRAME[..13]));
    batch.set(67, 0, 0);
    assert!(batch.put(68, &FRAME));
    assert!(batch.put(69, &FRAME));
    batch.set(69, 61, linerate_ring::flags::MOREFRAG);
    batch.commit(70);
    tx.sync();
    let count = tx.counters();
    assert_eq!((count.frames, count.bytes, count.dropped.total()), (1, 61, 2));
    assert_eq!(count.dropped.of(DropReason::TooManyFragments), 1);
    assert_eq!(count.dropped.of(DropReason::TooShort), 1);
    assert_eq!(tx.ring.outstanding(), 1, "a frame whose end has not come stays");
}

fn make_pipe(path: &Path) -> bool {
    let made = Command::new("mkfifo").arg(path).status().is_ok_and(|status| status.success());
    if !made {
        linerate_skip::skip!("no mkfifo");
    }
    made
}

#[test]
fn pipes_are_read_as_they_fill() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    if !make_pipe(&path) {
        return;
    }
    assert!(open(&format!("pcap:{},loop=2", path.display())).err().unwrap().to_string().contains("only once"));
    let mut port = open(&format!("pcap:{}", path.display())).unwrap();
    let mut rx = port.take_rx(0).unwrap();
    assert_eq!((take(&mut rx).len(), rx.link()), (0, Link::Up), "nobody has begun to write");
    assert!(rx.fall_asleep().unwrap().on.is_some());
    let mut pipe = OpenOptions::new().write(true).open(&path).unwrap();
    let b = BOTH[0];
    let bytes = [b.classic(0xa1b2_3c4d, 1), b.record(0, 0, 61, &FRAME), b.record(0, 0, 61, &FRAME)].concat();
    for (part, frames) in [(&bytes[..10], 0), (&bytes[10..50], 0), (&bytes[50..110], 1), (&bytes[110..], 1)] {
        pipe.write_all(part).unwrap();
        assert_eq!((take(&mut rx).len(), rx.link()), (frames, Link::Up));
    }
    drop(pipe);
    assert_eq!((take(&mut rx).len(), rx.link()), (0, Link::Down));
    assert_eq!((rx.counters().dropped.total(), port.trouble()), (0, None));
}

#[test]
fn a_full_pipe_holds_frames_back_and_a_broken_one_takes_the_link_down() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    if !make_pipe(&path) {
        return;
    }
    let name = format!("pcap:{},mode=w,slots=64", path.display());
    assert!(open(&name).is_err(), "nobody reads the pipe");
    let reader = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut port = open(&name).unwrap();
    let mut tx = port.take_tx(0).unwrap();
    let mut sent = 0;
    while tx.ring.free() > 0 {
        put(&mut tx, &[7; 1500]);
        sent += 1;
        tx.sync();
        assert!(sent < 10_000, "a pipe nobody empties takes no end of frames");
    }
    assert!(tx.fall_asleep().unwrap().on.is_some() && tx.link() == Link::Up);
    assert!(tx.counters().frames > 0 && tx.counters().frames < sent);
    // Regression: who waited for the end of its frames took those for sent that the pipe had no room for.
    assert!(tx.counters().frames + u64::from(tx.ring.outstanding()) >= sent, "what is not written is not completed");
    drop(reader);
    tx.sync();
    let count = tx.counters();
    assert_eq!((tx.link(), port.link(), tx.ring.outstanding()), (Link::Down, Link::Down, 0));
    assert_eq!(count.frames + count.dropped.of(DropReason::Refused), sent, "each frame was written or lost");
    let trouble = port.trouble().unwrap();
    assert!(trouble.contains("Broken pipe") && trouble.contains(path.to_str().unwrap()), "{trouble}");
    put(&mut tx, &FRAME);
    tx.sync();
    assert_eq!(tx.counters().dropped.of(DropReason::Refused), count.dropped.of(DropReason::Refused) + 1);
}

/// A small file system of its own, unmounted when dropped.
struct Small(tempfile::TempDir);

impl Small {
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(dir.path()).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(dir));
        }
        linerate_skip::skip!("no privilege to mount a small file system");
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_leaves_a_whole_capture_and_exact_counts() {
    let Some(disk) = Small::new() else { return };
    let path = disk.0.path().join("a.pcap");
    let mut port = open(&format!("pcap:{}", path.display())).unwrap();
    let mut tx = port.take_tx(0).unwrap();
    for _ in 0..100 {
        put(&mut tx, &[7; 1501]);
        tx.sync();
    }
    let count = tx.counters();
    assert_eq!((tx.link(), tx.ring.outstanding()), (Link::Down, 0));
    assert_eq!(count.frames + count.dropped.of(DropReason::Refused), 100);
    assert!(port.trouble().unwrap().contains("No space left"));
    drop((port, tx));
    let mut reader = Reader::open(&path).unwrap();
    assert_eq!(read_all(&mut reader).unwrap().len() as u64, count.frames);
    assert_eq!(reader.counts().bad, 0);
    drop(reader);
    assert!(count.frames > 10, "{count:?}");

    // The same in bulk: the buffer is larger than the disk.
    let mut writer = Writer::create(&path).unwrap();
    let results: Vec<_> =
        (0..200).map(|i| writer.write(&Record { time_ns: i, orig_len: 1501, data: &[7; 1501] })).collect();
    let end = writer.flush();
    assert!(results.iter().any(Result::is_err) && end.is_err());
    assert_eq!(writer.written() + writer.lost(), 200);
    let written = writer.written();
    drop(writer);
    assert_eq!(read_all(&mut Reader::open(&path).unwrap()).unwrap().len() as u64, written);
}
