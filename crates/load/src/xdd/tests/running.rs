//! Tests of runs: counts, printed lines, documents.

use super::*;

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
        .filter(|line| line.starts_with(" TARGET_") || line.starts_with(" COMBINED"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 2 * 2 + 2 + 1);
    // Label, pass, target, queue, bytes, operations.
    assert_eq!(rows[0][..6], ["TARGET_PASS", "1", "0", "16", "102400", "100"]);
    assert_eq!(rows[3][..6], ["TARGET_PASS", "2", "1", "16", "102400", "100"]);
    assert_eq!(rows[5][..6], ["TARGET_AVERAGE", "2", "1", "16", "204800", "200"]);
    assert_eq!(rows[6][..6], ["COMBINED", "2", "2", "16", "409600", "400"]);
    assert_eq!(rows[6][11..], ["mixed", "1024"]);
    // Elapsed, bandwidth, IOPS and latency of all are those of the account, to the digits printed.
    let number = |column: usize| rows[6][column].parse::<f64>().unwrap();
    let seconds = left.all.elapsed_ns as f64 / 1e9;
    let ms = (left.all.reads.total_ns + left.all.writes.total_ns) as f64 / 400.0 / 1e6;
    for (column, value) in [(6, seconds), (7, 0.4096 / seconds), (8, 400.0 / seconds), (9, ms)] {
        assert!((number(column) - value).abs() <= 0.0005, "{value}: {:?}", rows[6]);
    }
    assert!(left.all.from_first_ns > 0 && left.all.from_first_ns <= left.all.elapsed_ns);
}

/// Golden: a script that knows xdd 7 finds its columns here, by the heading and by place.
#[test]
fn the_table_has_the_heading_and_the_units_of_xdd() {
    let [(a, _), (b, _)] = [disk(64), disk(64)];
    let left = run_config(&config(&format!("-targets 2 {a} {b} -bs 512 -rs 1 -nr 8 -verbose")).unwrap()).unwrap();
    let lines: Vec<&str> = left.out.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("What ")).unwrap_or_else(|| panic!("{}", left.out));
    assert_eq!(
        lines[at..at + 2],
        [
            "\
What               Pass  Target   Queue     Bytes_Xfered         Ops     Elapsed  Bandwidth       IOPS   Latency   Pct_CPU  Op_Type    Xfer_Size",
            "\
\x20   UNITS>>      Number  Number  Number            Bytes        #ops     seconds   MBytes/s      Ops/s  millisec   percent     text        bytes"
        ]
    );
    let labels: Vec<_> = lines[at + 2..].iter().map(|line| (&line[..15], &line[16..56])).collect();
    assert_eq!(
        labels,
        [
            (" TARGET_PASS   ", "      1       0       1             4096"),
            (" TARGET_PASS   ", "      1       1       1             4096"),
            (" TARGET_AVERAGE", "      1       0       1             4096"),
            (" TARGET_AVERAGE", "      1       1       1             4096"),
            (" COMBINED      ", "      1       2       1             8192"),
        ],
        "{}",
        left.out
    );
}

#[test]
fn the_documents_say_what_the_table_says() {
    let (name, _) = disk(64);
    let left = on(&name, "-nr 100 -qd 4 -rwratio 25 -id lab");
    let text = left.result.to_json();
    let read = RunResult::from_json(&text).unwrap();
    assert_eq!(read, left.result);
    let test = &read.tests[0];
    let counted = ["reads", "writes", "read_bytes"].map(|name| test.counters.total(name));
    assert_eq!(counted, [Some(25), Some(75), Some(25 * 512)]);
    assert_eq!(test.value.as_ref().unwrap().unit, linerate_result::Unit::Iops);
    assert_eq!(test.ports[0].path, "memory of a test");
    assert_eq!(test.latency.as_ref().unwrap().count, 100);
    assert_eq!(test.parameters["rwratio"], 25.0.into());
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
    let (name, disk) = disk(64);
    let config = config(&format!("-targets 1 {name} -bs 512 -rs 1 -runtime 1000 -nr 1000000000")).unwrap();
    let stop = Stop::new().unwrap();
    let asker = stop.clone();
    let thread = std::thread::spawn(move || {
        while disk.lock().unwrap().ops.is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
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

/// Kinds of targets without requirements: memory keeps the data written, null discards it.
#[test]
fn memory_and_nothing_are_targets() {
    let go = |text: &str| {
        let config = config(text).unwrap();
        let sink = || Box::new(std::io::sink());
        let stop = Stop::new().unwrap();
        let mut streams = Streams::open(&config, sink(), sink(), &stop).unwrap();
        run(&config, engine::open, Vec::new(), &stop, &mut streams).map_err(|e| e.to_string())
    };
    // Each position is written before it is read: half of all requests read, and the range is one request.
    let text = "-bs 512 -rs 4 -nr 1000 -rwratio 50 -dp x -verify contents -seek none";
    let ram = go(&format!("-targets 1 ram:64K {text}")).unwrap();
    assert_eq!((ram.all.ops(), ram.all.miscompares), (1000, 1), "only the first read came before the first write");
    let null = go(&format!("-targets -2 null:1T {text} -qd 16")).unwrap();
    assert_eq!((null.all.reads.ops, null.all.writes.ops, null.all.miscompares), (1000, 1000, 1000));
    assert_eq!(null.result.tests[0].ports[0].path, "null");
    let error = go("-targets 1 null:x -nr 1").unwrap_err();
    assert_eq!(error, "target 0 (null:x): no size; give one up to 1024T, as null:1G");
}

/// The same on a file by io_uring, bypassing the page cache if the file system permits.
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
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 4096 + 256 * 1024);
    for (at, word) in (0u64..).step_by(8).zip(bytes.chunks_exact(8)) {
        let expected = if at < 4096 { 0 } else { at };
        assert_eq!(word, expected.to_le_bytes(), "{at}");
    }
    let direct = match go("-dio -kbytes 256 -startoffset 8 -verify contents") {
        Err(why) if why.contains("leave out -dio") => {
            linerate_skip::skip!("{why}");
            go("-kbytes 256 -startoffset 8 -verify contents").unwrap()
        }
        direct => {
            let direct = direct.unwrap();
            assert_eq!(direct.result.tests[0].ports[0].path, "io_uring, O_DIRECT");
            direct
        }
    };
    assert_eq!((direct.all.reads.ops, direct.all.miscompares), (64, 0));
    let mut wrong = bytes;
    wrong[100_000] ^= 4;
    std::fs::write(&path, &wrong).unwrap();
    let bad = go("-kbytes 256 -startoffset 8 -verify contents").unwrap();
    assert_eq!((bad.all.miscompares, bad.result.exit_code()), (1, 1));
    assert!(bad.result.reasons[0].contains("(block 195)"), "{:?}", bad.result.reasons);
    // The same with the name of its kind.
    let deleted = config(&format!("-targets 1 file:{name} -bs 512 -nr 1 -deletefile")).unwrap();
    let stop = Stop::new().unwrap();
    let mut streams = Streams::open(&deleted, Box::new(std::io::sink()), Box::new(std::io::sink()), &stop).unwrap();
    run(&deleted, engine::open, Vec::new(), &stop, &mut streams).unwrap();
    assert!(!path.exists());
}
