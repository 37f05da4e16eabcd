//! Runs: what is counted, printed, written down.

use super::*;
use linerate_fcoe::Memory;

#[test]
fn every_request_is_counted_once_and_the_table_adds_up() {
    let [(a, _), (b, _)] = [disk(64), disk(64)];
    let text = format!("-targets 2 {a} {b} -bs 512 -rs 2 -nr 100 -qd 16 -rwratio 50 -passes 2 -verbose");
    let left = run_config(&config(&text).unwrap()).unwrap();
    assert_eq!((left.all.reads.ops, left.all.writes.ops, left.all.bytes()), (200, 200, 400 * 1024));
    assert_eq!(left.all.latency().len(), 400);
    let rows: Vec<Vec<&str>> = left
        .out
        .lines()
        .filter(|line| line.starts_with("TARGET ") || line.contains("Combined"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 2 * 2 + 2 + 1);
    // What, T, Q, bytes, operations.
    assert_eq!(rows[0][1..6], ["PASS0001", "0", "16", "102400", "100"]);
    assert_eq!(rows[5][1..6], ["Average", "1", "16", "204800", "200"]);
    assert_eq!(rows[6][..5], ["Combined", "2", "32", "409600", "400"]);
    assert_eq!(rows[6][10..], ["mixed", "1024"]);
}

#[test]
fn the_documents_say_what_the_table_says() {
    let (name, _) = disk(64);
    let left = on(&name, "-nr 100 -qd 4 -rwratio 25 -id lab");
    let text = left.result.to_json();
    let read = RunResult::from_json(&text).unwrap();
    assert_eq!(read, left.result);
    let test = &read.tests[0];
    assert_eq!((test.counters["reads"], test.counters["writes"], test.counters["read_bytes"]), (25, 75, 25 * 512));
    assert_eq!(test.value.as_ref().unwrap().unit, "IOPS");
    assert_eq!(test.ports[0].path, "memory of a test");
    assert_eq!(test.latency.as_ref().unwrap().count, 100);
    assert_eq!(test.parameters["rwratio"], "25");
    let job = &left.fio["jobs"][0];
    assert_eq!((job["jobname"].as_str(), job["error"].as_u64()), (Some("lab"), Some(0)));
    assert_eq!((job["read"]["total_ios"].as_u64(), job["write"]["total_ios"].as_u64()), (Some(25), Some(75)));
    assert_eq!(job["write"]["io_bytes"].as_u64(), Some(75 * 512));
    for field in ["bw", "bw_bytes", "iops", "runtime"] {
        assert!(job["read"][field].is_number(), "{field}");
    }
    assert!(job["read"]["clat_ns"]["percentile"]["99.990000"].as_u64() > Some(0));
    assert_eq!(job["trim"]["total_ios"].as_u64(), Some(0));
}

#[test]
fn units_of_one_device_are_opened_together() {
    let (name, disk) = disk(64);
    let mut config = config(&format!("-targets -3 {name} -bs 512 -rs 1 -nr 2")).unwrap();
    config.targets.iter_mut().enumerate().for_each(|(unit, target)| target.unit = unit);
    let left = run_config(&config).unwrap();
    assert_eq!((left.targets.len(), disk.lock().unwrap().ops.len()), (3, 6));
    config.targets.remove(0);
    assert!(run_config(&config).err().unwrap().contains("this unit was not opened"));
}

#[test]
fn what_does_not_fit_is_said_before_anything_is_done() {
    let (name, disk) = disk(64);
    disk.lock().unwrap().read_only = true;
    for (text, part) in [
        ("-op write -nr 1", "it is read-only; give -op read"),
        ("-nr 1 -rs 65", "no room for a request of 33280 bytes"),
        ("-nr 1 -bs 100", "no number of its 512-byte blocks"),
    ] {
        let text = format!("-targets 1 {name} -bs 512 -rs 1 {text}");
        let error = run_config(&config(&text).unwrap()).err().unwrap();
        assert!(error.starts_with("target 0 (/test/") && error.contains(part), "{error}");
    }
    assert!(disk.lock().unwrap().ops.is_empty());
    let error = run_config(&config("-targets 1 /nowhere -nr 1").unwrap()).err().unwrap();
    assert_eq!(error, "target 0 (/nowhere): no such disk; give another");
}

#[test]
fn a_run_that_is_stopped_ends_and_says_so() {
    let (name, _) = disk(64);
    let config = config(&format!("-targets 1 {name} -bs 512 -rs 1 -runtime 1000 -nr 1000000000")).unwrap();
    let stop = Stop::new().unwrap();
    let asker = stop.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(30));
        asker.ask(2);
    });
    let sink = || Box::new(std::io::sink());
    let mut streams = Streams::open(&config, sink(), sink(), &stop).unwrap();
    let finished = run(&config, open, Vec::new(), &stop, &mut streams).unwrap();
    thread.join().unwrap();
    assert_eq!(finished.result.exit_code(), 130);
    assert!(finished.all.ops() > 0);
    assert_eq!(RunResult::from_json(&finished.result.to_json()).unwrap().signal, Some(2));
}

/// A device whose blocks lie in memory, and which does nothing else.
struct Ram {
    geometry: Geometry,
    data: Vec<u8>,
}

impl Memory for Ram {
    /// Never more than 700 octets at once.
    fn read(&self, offset: u64, len: usize) -> &[u8] {
        let from = usize::try_from(offset).unwrap();
        &self.data[from..][..len.min(700)]
    }
    fn write(&mut self, offset: u64, octets: &[u8]) {
        let to = usize::try_from(offset).unwrap();
        self.data[to..][..octets.len()].copy_from_slice(octets);
    }
    fn protection(&self, _: u64) -> Option<[u8; 8]> {
        None
    }
    fn set_protection(&mut self, _: u64, _: [u8; 8]) {}
}

impl Backend for Ram {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    fn memory(&mut self) -> Option<&mut dyn Memory> {
        Some(self)
    }
    fn submit(&mut self, _: Tag, operation: Operation) {
        panic!("{operation:?} of memory")
    }
    fn complete(&mut self) -> Option<Completion> {
        None
    }
}

#[test]
fn memory_is_read_and_written_where_it_is() {
    use linerate_fcoe::Buffer;
    let geometry = |read_only| Geometry {
        block_size: 512,
        blocks: 8,
        physical_exponent: 0,
        read_only,
        volatile: false,
        discards: false,
        discard_zeroes: false,
        protection: false,
        product: "test",
        serial: 0,
    };
    let ram = |read_only| Blocks::new(Ram { geometry: geometry(read_only), data: vec![0; 4096] }, "ram".into(), 4);
    let mut engine = ram(false);
    let mut buffer = Buffer::new(2048);
    buffer.bytes_mut().fill(9);
    engine.submit(Tag(1), Operation::Write { lba: 2, buffer, fua: false });
    engine.submit(Tag(2), Operation::Read { lba: 1, buffer: Buffer::new(2048) });
    engine.submit(Tag(3), Operation::Flush);
    engine.submit(Tag(4), Operation::Read { lba: 6, buffer: Buffer::new(2048) });
    let ended: Vec<_> = std::iter::from_fn(|| engine.complete()).collect();
    assert_eq!(ended.iter().map(|c| c.tag.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let read = ended[1].buffer.as_ref().unwrap().bytes();
    assert!(read[..512].iter().all(|b| *b == 0) && read[512..].iter().all(|b| *b == 9));
    assert_eq!(ended[3].result, Err(BackendError::Medium), "beyond the end");
    let mut engine = ram(true);
    engine.submit(Tag(1), Operation::Write { lba: 2, buffer: Buffer::new(512), fua: false });
    assert_eq!(engine.complete().unwrap().result, Err(BackendError::ReadOnly));
}

/// The same on a file by io_uring, past the page cache where the file system has that.
#[test]
fn a_file_is_made_written_and_verified() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    let name = path.to_str().unwrap();
    let go = |text: &str| {
        let config = config(&format!("-targets 1 {name} -bs 512 -rs 8 -dp sequenced -qd 8 {text}")).unwrap();
        let sink = || Box::new(std::io::sink());
        let stop = Stop::new().unwrap();
        let mut streams = Streams::open(&config, sink(), sink(), &stop).unwrap();
        run(&config, engine::open, Vec::new(), &stop, &mut streams).map_err(|e| e.to_string())
    };
    let error = go("-nr 1").unwrap_err();
    assert!(error.starts_with(&format!("target 0 ({name}): it is not there; make it: ")), "{error}");
    let written = go("-op write -kbytes 256 -startoffset 8").unwrap();
    assert_eq!((written.all.writes.ops, written.all.errors(), written.result.exit_code()), (64, 0, 0));
    let octets = std::fs::read(&path).unwrap();
    assert_eq!(octets.len(), 4096 + 256 * 1024);
    for (at, word) in (0u64..).step_by(8).zip(octets.chunks_exact(8)) {
        let expected = if at < 4096 { 0 } else { at };
        assert_eq!(word, expected.to_le_bytes(), "{at}");
    }
    let direct = match go("-dio -kbytes 256 -startoffset 8 -verify contents") {
        Err(why) if why.contains("leave out -dio") => {
            println!("skipped: {why}");
            go("-kbytes 256 -startoffset 8 -verify contents").unwrap()
        }
        direct => {
            let direct = direct.unwrap();
            assert_eq!(direct.result.tests[0].ports[0].path, "io_uring, O_DIRECT");
            direct
        }
    };
    assert_eq!((direct.all.reads.ops, direct.all.miscompares), (64, 0));
    let mut wrong = octets;
    wrong[100_000] ^= 4;
    std::fs::write(&path, &wrong).unwrap();
    let bad = go("-kbytes 256 -startoffset 8 -verify contents").unwrap();
    assert_eq!((bad.all.miscompares, bad.result.exit_code()), (1, 1));
    assert!(bad.result.reasons[0].contains("(block 195)"), "{:?}", bad.result.reasons);
}
