//! Capture files: what is written is read, what others wrote is read, and what is damaged does no damage.

#![expect(clippy::cast_possible_truncation, reason = "numbers of tests are small")]

use linerate_port::capture::{CaptureError, Counts, LONGEST, Reader, Record, Writer};
use linerate_port::{DropReason, Link, Port, RxQueue, TxQueue, open, open_all};
use proptest::prelude::*;
use std::fs::{self, OpenOptions};
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[path = "pcap/port.rs"]
mod port;
use port::drain;

type Owned = (u64, u32, Vec<u8>);

/// Captures of FCoE between Linux hosts (tests/data), and how many frames each has; the last was converted by tshark.
const GOLDEN: [(&str, usize); 4] =
    [("fcoe-fabric.pcap", 36), ("fcoe-vlan.pcap", 44), ("fcoe-write.pcap", 131), ("fcoe-login.pcapng", 22)];

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn read_all<R: Read>(reader: &mut Reader<R>) -> Result<Vec<Owned>, CaptureError> {
    let mut all = Vec::new();
    while let Some(record) = reader.read()? {
        all.push((record.time_ns, record.orig_len, record.data.to_vec()));
    }
    Ok(all)
}

fn read_bytes(bytes: &[u8]) -> (Result<Vec<Owned>, String>, Counts) {
    let mut reader = Reader::new("bytes", bytes);
    let all = read_all(&mut reader).map_err(|e| e.to_string());
    (all, reader.counts())
}

fn write_all(path: &Path, records: &[Owned]) {
    let mut writer = Writer::create(path).unwrap();
    for (time_ns, orig_len, data) in records {
        writer.write(&Record { time_ns: *time_ns, orig_len: *orig_len, data }).unwrap();
    }
    writer.flush().unwrap();
    assert_eq!((writer.written(), writer.lost()), (records.len() as u64, 0));
}

/// Reads a file with an independent program: time, length and captured length of each packet; panics on a malformed
/// one.
fn tshark(path: &Path) -> Option<Vec<(u64, u32, usize)>> {
    let fields = ["frame.time_epoch", "frame.len", "frame.cap_len", "_ws.malformed"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-T", "fields"]).stderr(Stdio::null());
    let output = command.args(fields.iter().flat_map(|f| ["-e", f])).output();
    let Ok(output) = output else {
        linerate_skip::skip!("tshark is not installed");
        return None;
    };
    assert!(output.status.success(), "tshark refuses {}", path.display());
    let text = String::from_utf8(output.stdout).unwrap();
    let frames = text.lines().map(|line| {
        let fields: Vec<_> = line.split('\t').collect();
        assert_eq!(fields[3], "", "malformed frame in {}", path.display());
        let (s, ns) = fields[0].split_once('.').unwrap();
        let time = s.parse::<u64>().unwrap() * 1_000_000_000 + ns.parse::<u64>().unwrap();
        (time, fields[1].parse().unwrap(), fields[2].parse().unwrap())
    });
    Some(frames.collect())
}

#[test]
fn golden_captures_are_read_as_tshark_reads_them() {
    for (name, n) in GOLDEN {
        let mut reader = Reader::open(&golden(name)).unwrap();
        let ours = read_all(&mut reader).unwrap();
        assert_eq!(ours.len(), n, "{name}");
        assert_eq!(reader.counts(), Counts { records: n as u64, truncated: 0, bad: 0, other: 0 });
        let Some(theirs) = tshark(&golden(name)) else { return };
        let ours: Vec<_> = ours.iter().map(|(time, len, data)| (*time, *len, data.len())).collect();
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn what_is_written_is_read_by_us_and_by_tshark() {
    let dir = tempfile::tempdir().unwrap();
    for (name, _) in GOLDEN {
        let path = dir.path().join(name);
        let records = read_all(&mut Reader::open(&golden(name)).unwrap()).unwrap();
        write_all(&path, &records);
        assert_eq!(read_all(&mut Reader::open(&path).unwrap()).unwrap(), records);
        let Some(theirs) = tshark(&path) else { return };
        let ours: Vec<_> = records.iter().map(|(time, len, data)| (*time, *len, data.len())).collect();
        assert_eq!(ours, theirs, "{name}");
    }
}

proptest! {
    #[test]
    fn any_records_survive(
        records in prop::collection::vec(
            (0..4_294_967_296_000_000_000u64, 0..70_000u32, prop::collection::vec(any::<u8>(), 14..2000)), 0..40)
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.pcap");
        let records: Vec<Owned> =
            records.into_iter().map(|(t, more, data)| (t, data.len() as u32 + more, data)).collect();
        write_all(&path, &records);
        let mut reader = Reader::open(&path).unwrap();
        prop_assert_eq!(read_all(&mut reader).unwrap(), records.clone());
        let cut = records.iter().filter(|(_, len, data)| *len as usize > data.len()).count() as u64;
        prop_assert_eq!(reader.counts(), Counts { records: records.len() as u64, truncated: cut, bad: 0, other: 0 });
        reader.rewind().unwrap();
        prop_assert_eq!(read_all(&mut reader).unwrap(), records);
    }
}

// ---- formats, built by hand ----

#[derive(Clone, Copy)]
struct Build {
    big: bool,
}

impl Build {
    fn u16(self, n: u16) -> [u8; 2] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    fn u32(self, n: u32) -> [u8; 4] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    fn words(self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|n| self.u32(*n)).collect()
    }

    fn classic(self, magic: u32, link: u32) -> Vec<u8> {
        [self.words(&[magic]), self.u16(2).into(), self.u16(4).into(), self.words(&[0, 0, 65535, link])].concat()
    }

    fn record(self, sec: u32, frac: u32, orig: u32, data: &[u8]) -> Vec<u8> {
        [self.words(&[sec, frac, data.len() as u32, orig]), data.to_vec()].concat()
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padded = body.len().next_multiple_of(4);
        let total = 12 + padded as u32;
        [self.words(&[kind, total]), body.to_vec(), vec![0; padded - body.len()], self.words(&[total])].concat()
    }

    fn section(self) -> Vec<u8> {
        let body = [self.words(&[0x1a2b_3c4d]), self.u16(1).into(), self.u16(0).into(), vec![0xff; 8]].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let pad = value.len().next_multiple_of(4) - value.len();
        [&self.u16(code)[..], &self.u16(value.len() as u16), value, &vec![0; pad]].concat()
    }

    fn interface(self, link: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
        let body = [self.u16(link).into(), self.u16(0).into(), self.words(&[snaplen]), options.to_vec()].concat();
        self.block(1, &body)
    }

    fn packet(self, interface: u32, time: u64, orig: u32, data: &[u8]) -> Vec<u8> {
        let head = [interface, (time >> 32) as u32, time as u32, data.len() as u32, orig];
        self.block(6, &[self.words(&head), data.to_vec()].concat())
    }
}

const BOTH: [Build; 2] = [Build { big: false }, Build { big: true }];
const FRAME: [u8; 61] = [0x5a; 61];

#[test]
fn all_magics_are_read() {
    for b in BOTH {
        for (magic, ns) in [(0xa1b2_c3d4, 7_000), (0xa1b2_3c4d, 7)] {
            let file = [b.classic(magic, 1), b.record(3, 7, 61, &FRAME), b.record(4, 7, 1500, &FRAME)].concat();
            let (records, counts) = read_bytes(&file);
            let expected = [(3_000_000_000 + ns, 61, FRAME.to_vec()), (4_000_000_000 + ns, 1500, FRAME.to_vec())];
            assert_eq!(records.unwrap(), expected);
            assert_eq!(counts, Counts { records: 2, truncated: 1, bad: 0, other: 0 });
        }
    }
}

/// Kuznetzov's records, whose headers have 8 bytes more; and versions that have the two lengths the other way round.
#[test]
fn older_kinds_of_records_are_read() {
    for b in BOTH {
        let longer = |sec, orig| [&b.record(sec, 7, orig, &FRAME)[..16], &[0xee; 8], &FRAME].concat();
        let turned = |sec, orig| [&b.words(&[sec, 7, orig, 61])[..], &FRAME].concat();
        let of = |minor: u16| {
            let head = b.classic(0xa1b2_c3d4, 1);
            [&head[..6], &b.u16(minor), &head[8..]].concat()
        };
        for file in [
            [b.classic(0xa1b2_cd34, 1), longer(3, 61), longer(4, 1500)].concat(),
            [of(2), turned(3, 61), turned(4, 1500)].concat(),
            [of(3), turned(3, 61), turned(4, 1500)].concat(),
            [of(3), b.record(3, 7, 61, &FRAME), b.record(4, 7, 1500, &FRAME)].concat(),
        ] {
            let (records, counts) = read_bytes(&file);
            let expected = [(3_000_007_000, 61, FRAME.to_vec()), (4_000_007_000, 1500, FRAME.to_vec())];
            assert_eq!(records.unwrap(), expected);
            assert_eq!(counts, Counts { records: 2, truncated: 1, bad: 0, other: 0 });
        }
    }
}

/// A capture that editcap has converted, and gzip has packed, is read as the capture itself; by a port, too.
#[test]
fn what_others_convert_and_pack_is_read() {
    let dir = tempfile::tempdir().unwrap();
    for (name, frames) in GOLDEN {
        let known = read_all(&mut Reader::open(&golden(name)).unwrap()).unwrap();
        let whole =
            |all: &[Owned]| all.iter().map(|(time, orig, data)| (time / 1000, *orig, data.clone())).collect::<Vec<_>>();
        for form in ["pcap", "nsecpcap", "modpcap", "pcapng"] {
            let path = dir.path().join(form);
            let done = Command::new("editcap").args(["-F", form]).args([&golden(name), &path]).status();
            if !done.is_ok_and(|status| status.success()) {
                linerate_skip::skip!("editcap is not installed");
                continue;
            }
            let packed = dir.path().join(format!("{form}.gz"));
            // Two members one behind the other are one file (RFC 1952, 2.2).
            let bytes = fs::read(&path).unwrap();
            let mut file = fs::File::create(&packed).unwrap();
            for half in [&bytes[..bytes.len() / 2], &bytes[bytes.len() / 2..]] {
                let mut gzip = flate2::write::GzEncoder::new(&mut file, flate2::Compression::fast());
                gzip.write_all(half).unwrap();
                gzip.finish().unwrap();
            }
            for path in [&path, &packed] {
                let mut reader = Reader::open(path).unwrap();
                for pass in 0..2 {
                    assert_eq!(whole(&read_all(&mut reader).unwrap()), whole(&known), "{} {pass}", path.display());
                    reader.rewind().unwrap();
                }
                let mut port = open(&format!("pcap:{},mode=r", path.display())).unwrap();
                assert_eq!(drain(&mut port).0.len(), frames, "{}", path.display());
            }
            fs::write(&packed, &fs::read(&packed).unwrap()[..100]).unwrap();
            let cut = Reader::open(&packed).map(|mut reader| read_all(&mut reader).map(|_| ()));
            assert!(!matches!(cut, Ok(Ok(()))), "a cut stream is no capture's end");
        }
    }
    let line = Writer::create(&dir.path().join("new.pcap.gz")).unwrap_err().to_string();
    assert!(line.contains("unpacked") && line.contains("without .gz"), "{line}");
}

#[test]
fn an_fcs_that_was_captured_is_cut_off() {
    let b = BOTH[0];
    // Bit 26, and 2 words of 16 bits.
    let link = 1 | 1 << 26 | 2 << 28;
    let file = [b.classic(0xa1b2_3c4d, link), b.record(0, 0, 61, &FRAME), b.record(0, 1, 1000, &FRAME)].concat();
    let (records, counts) = read_bytes(&file);
    assert_eq!(records.unwrap(), [(0, 57, FRAME[..57].to_vec()), (1, 996, FRAME.to_vec())]);
    assert_eq!(counts, Counts { records: 2, truncated: 1, bad: 0, other: 0 });
}

#[test]
fn pcapng_of_several_sections_interfaces_and_blocks_is_read() {
    for (b, other) in [(BOTH[0], BOTH[1]), (BOTH[1], BOTH[0])] {
        let offset = if b.big { 2i64.to_be_bytes() } else { 2i64.to_le_bytes() };
        let ns_and_offset = [b.option(9, &[9]), b.option(14, &offset), b.option(0, &[])].concat();
        let old = [&b.u16(1)[..], &b.u16(0), &b.words(&[0, 44, 61, 61]), &FRAME].concat();
        let file = [
            b.section(),
            b.interface(1, 0, &[]),
            b.interface(1, 40, &ns_and_offset),
            b.packet(0, 5_000_000, 61, &FRAME),
            b.block(0x0bad_cafe, &[1; 33]),
            b.packet(1, 43, 61, &FRAME),
            b.block(2, &old),
            b.block(5, &[0; 20]),
            other.section(),
            other.interface(1, 40, &other.option(9, &[0x80 | 10])),
            other.packet(0, 512, 61, &FRAME),
            other.block(3, &[&other.u32(61)[..], &FRAME[..40]].concat()),
        ]
        .concat();
        let (records, counts) = read_bytes(&file);
        let times = [5_000_000_000, 2_000_000_043, 2_000_000_044, 500_000_000, 500_000_000];
        let mut expected: Vec<Owned> = times.iter().map(|t| (*t, 61, FRAME.to_vec())).collect();
        expected[4].2.truncate(40);
        assert_eq!(records.unwrap(), expected);
        assert_eq!(counts, Counts { records: 5, truncated: 1, bad: 0, other: 0 });
    }
}

#[test]
fn damage_costs_what_is_damaged() {
    let b = BOTH[0];
    let (good, n) = (b.packet(0, 1, 61, &FRAME), 61);
    let begin = [b.section(), b.interface(1, 0, &[])].concat();
    let mut wrong_captured = good.clone();
    wrong_captured[20..24].copy_from_slice(&b.u32(1_000_000));
    let mut wrong_end = good.clone();
    let end = wrong_end.len() - 4;
    wrong_end[end..].copy_from_slice(&b.u32(12));
    let (long, vast) = (b.packet(0, 1, 300_000, &vec![0; 300_000]), b.block(77, &vec![7; 5_000_000]));
    let mut vast_wrong_end = vast.clone();
    let end = vast_wrong_end.len() - 4;
    vast_wrong_end[end..].copy_from_slice(&b.u32(12));
    // Bytes between two good packets, number of records read, number of bad ones.
    for (case, between, records, bad) in [
        ("nothing", vec![], 2, 0),
        ("more bytes than the block has", wrong_captured, 2, 1),
        ("an interface nobody described", b.packet(9, 1, 61, &FRAME), 2, 1),
        ("a frame without a header", b.packet(0, 1, 13, &FRAME[..13]), 2, 1),
        ("more than the greatest length", long, 2, 1),
        ("a packet block without its fields", b.block(6, &[0; 8]), 2, 1),
        ("a vast unknown block", vast, 2, 0),
        ("a packet longer than the window", b.packet(0, 1, 61, &vec![0; 1_000_000]), 2, 1),
        ("two lengths", wrong_end, 1, 1),
        ("two lengths, far apart", vast_wrong_end, 1, 1),
        ("a length that is no multiple of 4", b.words(&[6, 33, 0, 0, 0, 0, 0, 0, 33]), 1, 1),
        ("no length", b.words(&[6, 0, 0]), 1, 1),
        ("a length beyond the end", b.words(&[6, 0x7000_0000, 0]), 1, 2),
        ("a section of no byte order", b.words(&[0x0a0d_0d0a, 28, 3, 0, 0, 0, 28]), 1, 1),
    ] {
        let file = [begin.clone(), good.clone(), between, good.clone()].concat();
        let (all, counts) = read_bytes(&file);
        let all = all.unwrap();
        assert!(all.iter().all(|(_, len, data)| (*len, data.len()) == (n, 61)), "{case}");
        assert_eq!((all.len(), counts.bad), (records, bad), "{case}");
    }
    let head = b.classic(0xa1b2_3c4d, 1);
    let good = b.record(0, 0, 61, &FRAME);
    for (case, between, records, bad) in [
        ("a frame without a header", b.record(0, 0, 13, &FRAME[..13]), 2, 1),
        ("more than the greatest length", b.record(0, 0, 61, &vec![0; LONGEST + 1]), 1, 1),
        ("the greatest length", b.record(0, 0, 61, &vec![0; LONGEST]), 3, 0),
        ("a length beyond the end", b.words(&[0, 0, 1000, 1000]), 1, 1),
    ] {
        let (all, counts) = read_bytes(&[head.clone(), good.clone(), between, good.clone()].concat());
        assert_eq!((all.unwrap().len(), counts.bad), (records, bad), "{case}");
    }
}

/// Interfaces of two link types in one file: those of others are skipped and counted, or one is chosen.
#[test]
fn frames_of_other_link_types_are_skipped_and_counted_or_an_interface_is_chosen() {
    let dir = tempfile::tempdir().unwrap();
    for b in BOTH {
        let frame = |interface: u32| b.packet(interface, 0, 60, &[u8::try_from(interface).unwrap(); 60]);
        let file = [
            [b.section(), b.interface(113, 0, &[]), b.interface(1, 0, &[]), b.interface(1, 0, &[])].concat(),
            [frame(0), frame(1), frame(0), frame(2), frame(1)].concat(),
        ]
        .concat();
        let path = dir.path().join("mixed.pcapng");
        fs::write(&path, &file).unwrap();
        let read = |only| {
            let mut reader = Reader::new("mixed", &file[..]).only(only);
            let all = read_all(&mut reader).map_err(|e| e.to_string());
            (all.map(|all| all.iter().map(|(_, _, data)| data[0]).collect::<Vec<_>>()), reader.counts().other)
        };
        assert_eq!(read(None), (Ok(vec![1, 2, 1]), 2));
        assert_eq!(read(Some(2)), (Ok(vec![2]), 4));
        assert!(read(Some(0)).0.unwrap_err().contains("link type 113"));
        assert!(read(Some(3)).0.unwrap_err().contains("has no interface 3; they are counted from 0"));
        let name = path.display();
        let mut port = open(&format!("pcap:{name},if=1")).unwrap();
        assert_eq!(drain(&mut port).0.len(), 2);
        assert!(port.raw_counters().contains(&("capture_other_interfaces".to_owned(), 3)), "{:?}", port.raw_counters());
        let line = open(&format!("pcap:{name},if=3")).err().unwrap().to_string();
        assert!(line.contains("has no interface 3") && !line.contains('\n'), "{line}");
    }
}

#[test]
fn what_is_no_capture_is_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let b = BOTH[1];
    for (bytes, words) in [
        (vec![], "is empty"),
        (b"\x1f\x8b\x08\0".to_vec(), "cannot be read"),
        (b"BZh9\0".to_vec(), "begins with 42 5a 68 39"),
        (vec![0; 1000], "begins with 00 00 00 00"),
        (b.classic(0xa1b2_c3d4, 1)[..20].to_vec(), "no capture"),
        (b.classic(0xa1b2_c3d4, 113), "link type 113 (Linux cooked)"),
        ([b.section(), b.interface(276, 0, &[])].concat(), "link type 276 (Linux cooked v2)"),
    ] {
        let path = dir.path().join("file");
        fs::write(&path, bytes).unwrap();
        let name = path.display().to_string();
        for line in
            [Reader::open(&path).err().unwrap().to_string(), open(&format!("pcap:{name}")).err().unwrap().to_string()]
        {
            assert!(line.contains(words) && line.contains(&name) && line.contains("; "), "{line}");
            assert!(!line.contains('\n'));
        }
    }
    assert!(Reader::open(&dir.path().join("none")).err().unwrap().to_string().contains("cannot be opened"));
    assert!(open(&format!("pcap:{}", dir.path().display())).err().unwrap().to_string().contains("cannot be read"));
    assert!(open("pcap:/dev/zero").err().unwrap().to_string().contains("no capture"));
}

#[test]
fn a_cut_file_gives_all_whole_records_wherever_it_is_cut() {
    for (name, _) in [GOLDEN[0], GOLDEN[3]] {
        let bytes = fs::read(golden(name)).unwrap();
        let whole = read_bytes(&bytes).0.unwrap();
        let mut last = 0;
        for cut in 0..bytes.len() {
            let (records, counts) = read_bytes(&bytes[..cut]);
            let Ok(records) = records else {
                assert!(cut < 36, "{name} cut at {cut} is a capture");
                continue;
            };
            assert_eq!(records, whole[..records.len()], "{name} cut at {cut}");
            assert!(records.len() >= last && counts.bad <= 1);
            last = records.len();
            // Exactly one bad record, unless the cut is between two.
            if counts.bad == 0 {
                assert!(read_bytes(&bytes[..cut + 1]).1.bad == 1);
            }
        }
        assert_eq!(last + 1, whole.len());
    }
}

/// Gives bytes in odd portions.
struct Trickle<R>(R, u32);

impl<R: Read> Read for Trickle<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.1 = self.1.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let n = to.len().min(1 + (self.1 >> 24) as usize);
        self.0.read(&mut to[..n])
    }
}

fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("VmHWM: 0 kB");
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn endless_sources_end_or_go_on_in_the_same_memory() {
    let b = BOTH[0];
    let before = peak_kib();
    // Zeros without end: no record, a record without bytes, a block without length.
    assert!(read_all(&mut Reader::new("zero", io::repeat(0))).is_err());
    let mut empty = Reader::new("empty records", Cursor::new(b.classic(0xa1b2_3c4d, 1)).chain(io::repeat(0)));
    assert_eq!(read_all(&mut empty).unwrap(), []);
    assert!(empty.counts().bad > 1000);
    let mut ng = Reader::new("zero blocks", Cursor::new(b.section()).chain(io::repeat(0)));
    assert_eq!(read_all(&mut ng).unwrap(), []);
    // A block of nearly 4 GiB is passed through a window.
    let vast = b.words(&[0x0bad_cafe, 0xffff_fffc]);
    let mut vast = Reader::new("vast", Cursor::new([b.section(), vast].concat()).chain(io::repeat(0)));
    assert_eq!(read_all(&mut vast).unwrap(), []);
    assert_eq!(vast.counts().bad, 1);
    // Good records without end: half a gigabyte of them.
    let mut many =
        Reader::new("many", Cursor::new(b.classic(0xa1b2_3c4d, 1)).chain(Repeat(b.record(0, 0, 61, &FRAME))));
    let mut n = 0;
    while n < 500_000_000 / 61 {
        assert_eq!(many.read().unwrap().unwrap().data, FRAME);
        n += 1;
    }
    // Other tests run beside this one; the sources are without end, and one block says that it has 4 GiB.
    assert!(peak_kib() - before < 256 << 10, "grew by {} KiB", peak_kib() - before);
}

/// Reader of the same bytes, repeated for ever.
struct Repeat(Vec<u8>);

impl Read for Repeat {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = to.len().min(self.0.len());
        to[..n].copy_from_slice(&self.0[..n]);
        self.0.rotate_left(n);
        Ok(n)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Damaged files: whatever comes out are frames, and both ways of reading agree on them.
    #[test]
    fn damaged_files_do_no_harm(
        which in 0..4usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 0..12),
        words in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>()), 0..3),
        cut in any::<prop::sample::Index>(),
        cuts in any::<bool>(),
        seed in any::<u32>(),
    ) {
        let mut bytes = fs::read(golden(GOLDEN[which].0)).unwrap();
        // The first part of the greatest file is as good as all of it.
        bytes.truncate(20_000);
        for (at, value, how) in changes {
            let at = at.index(bytes.len());
            match how {
                0 => bytes.insert(at, value),
                1 => drop(bytes.remove(at)),
                2 => bytes[at] ^= 1 << (value % 8),
                _ => bytes[at] = value,
            }
        }
        for (at, value) in words {
            let at = at.index(bytes.len() - 4) & !3;
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        let (all, counts) = read_bytes(&bytes);
        let mut trickle = Reader::new("trickle", Trickle(&bytes[..], seed));
        let again = read_all(&mut trickle).map_err(|e| e.to_string().replace("trickle", "bytes"));
        prop_assert_eq!(&all, &again);
        prop_assert_eq!(counts, trickle.counts());

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("damaged");
        fs::write(&path, &bytes).unwrap();
        let port = open(&format!("pcap:{},mode=r", path.display()));
        let Ok(all) = all else { return Ok(()) };
        prop_assert!(all.iter().all(|(_, len, data)| data.len() >= 14 && data.len() <= *len as usize));
        let mut port = port.unwrap();
        let (frames, rx) = drain(&mut port);
        prop_assert_eq!(frames, all.into_iter().map(|(_, _, data)| data).collect::<Vec<_>>());
        prop_assert_eq!(rx.counters().dropped.of(DropReason::BadRecord), counts.bad);
        prop_assert_eq!(port.raw_counters()[0].1, counts.truncated);
    }
}

/// Regression: once it was said that no interface is Ethernet, the same file read again was an empty capture. Found by the
/// fuzzer.
#[test]
fn a_capture_of_another_link_type_is_refused_again_when_it_is_read_again() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/pcap/foreign-link-read-twice");
    let bytes = std::fs::read(file).unwrap();
    let mut reader = Reader::new("twice", std::io::Cursor::new(&bytes[..]));
    for time in ["first", "second"] {
        let refused = loop {
            match reader.read() {
                Ok(Some(_)) => {}
                Ok(None) => break None,
                Err(e) => break Some(e.to_string()),
            }
        };
        assert!(refused.is_some(), "the {time} time");
        reader.rewind().unwrap();
    }
}
