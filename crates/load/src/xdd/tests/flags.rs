//! A case for every flag of the table that shows its effect; no flag is without a case.

use super::*;
use crate::flags::{Does, Flag};
use crate::xdd::flags::{FLAGS, PROGRAM};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

type Case = (&'static str, fn());

fn file(name: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name).to_str().unwrap().to_owned();
    (dir, path)
}

/// Checks that a run waited so long, and that this time is not part of its measurement.
fn uncounted(begun: Instant, waited: Duration, left: &Left) {
    let measured = Duration::from_nanos(left.all.elapsed_ns);
    assert!(begun.elapsed() >= waited + measured, "{measured:?} beside {waited:?} of waiting");
}

fn kinds(text: &str) -> String {
    ops(text).iter().map(|op| op.what).collect()
}

/// One case per flag.
const CASES: &[Case] = &[
    ("help", || {
        for asked in ["-h", "-help", "--help", "-nr 1 --help", "help"] {
            assert!(config(asked).unwrap_err().starts_with("Usage: xdd"), "{asked}");
        }
    }),
    ("fullhelp", || assert!(config("-exthelp").unwrap_err().contains("-queuedepth, -qd"))),
    ("version", || {
        for asked in ["-version", "-ver", "--version"] {
            assert!(config(asked).unwrap_err().starts_with("xdd (linerate "), "{asked}");
        }
    }),
    ("V", || assert!(config("-V").unwrap_err().starts_with("xdd (linerate "))),
    ("setup", || {
        let (_dir, path) = file("more");
        std::fs::write(&path, "-numreqs 3\n-op write").unwrap();
        assert_eq!(kinds(&format!("-setup {path} -op read")), "rrr");
        std::fs::write(&path, format!("-setup {path}")).unwrap();
        assert!(config(&format!("-setup {path}")).unwrap_err().contains("more than 8 files"));
    }),
    ("targets", || {
        let [(a, da), (b, db)] = [disk(8), disk(8)];
        run_config(&config(&format!("-targets 2 {a} {b} -bs 512 -rs 1 -nr 2")).unwrap()).unwrap();
        assert_eq!((da.lock().unwrap().ops.len(), db.lock().unwrap().ops.len()), (2, 2));
        let left = run_config(&config(&format!("-targets -3 {a} -bs 512 -rs 1 -nr 2")).unwrap()).unwrap();
        assert_eq!((left.targets.len(), da.lock().unwrap().ops.len()), (3, 8));
    }),
    ("target", || {
        let [(a, da), (b, db)] = [disk(8), disk(8)];
        run_config(&config(&format!("-target {a} -target {b} -bs 512 -rs 1 -nr 2")).unwrap()).unwrap();
        assert_eq!((da.lock().unwrap().ops.len(), db.lock().unwrap().ops.len()), (2, 2));
    }),
    ("targetdir", || assert_eq!(config("-td /x -targets 1 y -nr 1").unwrap().targets[0].name, "/x/y")),
    ("targetoffset", || {
        let (a, da) = disk(8);
        run_config(&config(&format!("-targets -2 {a} -bs 512 -rs 1 -nr 1 -to 5")).unwrap()).unwrap();
        let at: BTreeSet<_> = da.lock().unwrap().ops.iter().map(|op| op.at).collect();
        assert_eq!(at, BTreeSet::from([0, 5 * 512]));
    }),
    ("targetstartdelay", || {
        let begun = Instant::now();
        let (a, _) = disk(8);
        run_config(&config(&format!("-targets -2 {a} -bs 512 -rs 1 -nr 1 -tsd 0.05")).unwrap()).unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(50));
    }),
    ("processor", || {
        let cpu = *linerate_rt::cpus().last().unwrap();
        assert_eq!(one(&format!("-nr 1 -processor 0 {cpu}")).2.lock().unwrap().cpus, [cpu]);
        let error = run_config(&config(&format!("-targets 1 {} -nr 1 -pt 0 4095", disk(8).0)).unwrap()).err().unwrap();
        assert!(error.starts_with("-processor 4095: "), "{error}");
    }),
    ("singleproc", || {
        let cpu = *linerate_rt::cpus().last().unwrap();
        assert_eq!(one(&format!("-nr 1 -sp {cpu}")).2.lock().unwrap().cpus, [cpu]);
    }),
    ("roundrobin", || {
        let cpus = linerate_rt::cpus();
        let found = config("-targets 3 a b c -nr 1 -rr all").unwrap();
        let expected: Vec<_> = (0..3).map(|n| Some(cpus[n % cpus.len()])).collect();
        assert_eq!(found.targets.iter().map(|t| t.cpu).collect::<Vec<_>>(), expected);
        assert_eq!(config("-targets 1 a -nr 1 -rr 1").unwrap().targets[0].cpu, Some(cpus[0]));
    }),
    ("operation", || assert_eq!((kinds("-nr 2 -op read"), kinds("-nr 2 -op write")), ("rr".into(), "ww".into()))),
    ("rwratio", || {
        let sorted = |text: &str| {
            let mut kinds: Vec<_> = kinds(text).chars().collect();
            kinds.sort_unstable();
            String::from_iter(kinds)
        };
        assert_eq!(sorted("-nr 8 -rwratio 25"), "rrwwwwww");
        assert_eq!((sorted("-nr 2 -op read -rwratio 0"), sorted("-nr 2 -rwratio 100")), ("ww".into(), "rr".into()));
    }),
    ("blocksize", || assert_eq!(ops("-nr 1 -bs 1024")[0].len, 1024)),
    ("reqsize", || {
        assert_eq!(ops("-nr 1 -rs 4")[0].len, 2048);
        // The published sizes in bytes are these numbers of blocks of 512.
        for (blocks, bytes) in [(1, 512), (2, 1024), (4, 2048), (8, 4096), (16, 8192), (32, 16384), (64, 32768)] {
            assert_eq!(ops(&format!("-nr 1 -rs {blocks}"))[0].len, bytes);
        }
    }),
    ("numreqs", || assert_eq!(ops("-nr 5").len(), 5)),
    ("bytes", || assert_eq!(ops("-rs 2 -bytes 2560").iter().map(|op| op.len).collect::<Vec<_>>(), [1024, 1024, 512])),
    ("kbytes", || assert_eq!(ops("-kbytes 2").len(), 4)),
    ("mbytes", || assert_eq!(ops("-mbytes 1").len(), 2048)),
    ("queuedepth", || {
        assert_eq!(one("-nr 32 -qd 7").2.lock().unwrap().most, 7);
        assert_eq!(one("-nr 3 -qd 7").2.lock().unwrap().most, 3);
    }),
    ("seek", || {
        assert_eq!(places("-nr 4 -seek none"), [0; 4]);
        assert_eq!(places("-nr 4 -seek range 3"), [0, 1, 2, 0]);
        let random = places("-nr 40 -seek random -seek seed 9");
        assert!(
            random.windows(2).any(|pair| pair[1] < pair[0]) && random == places("-nr 40 -seek random -seek seed 9")
        );
        assert_ne!(random, places("-nr 40 -seek random -seek seed 10"));
        assert_eq!(places("-nr 2 -seek random -seek sequential"), [0, 1]);
    }),
    ("startoffset", || assert_eq!(places("-nr 2 -startoffset 7"), [7, 8])),
    ("passoffset", || assert_eq!(places("-nr 2 -passes 2 -passoffset 10"), [0, 1, 10, 11])),
    ("datapattern", || {
        let written = |text: &str| one(&format!("-nr 2 -op write {text}")).2.lock().unwrap().data[512..528].to_vec();
        assert_eq!(written("-dp sequenced"), [0, 2, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(written("-dp sequenced -dp prefix ff")[7], 0xff);
        assert_eq!(written("-dp x -dp inverse"), [!b'x'; 16]);
        assert_eq!(written("-dp ascii ab -dp replicate"), *b"abababababababab");
        assert_eq!(written("-dp hex 0x0102"), [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let random = written("-dp random");
        assert!(random == written("-dp random") && random[..8] != random[8..]);
        assert_eq!(written(""), [0; 16]);
    }),
    ("verify", || {
        let (name, disk) = disk(64);
        on(&name, "-op write -nr 64 -dp sequenced");
        let good = on(&name, "-nr 64 -dp sequenced -verify contents");
        assert_eq!((good.all.miscompares, good.result.exit_code()), (0, 0));
        disk.lock().unwrap().data[5 * 512 + 100] ^= 1;
        let bad = on(&name, "-nr 64 -dp sequenced -verify contents");
        assert_eq!((bad.all.miscompares, bad.result.exit_code()), (1, 1));
        assert!(bad.log.contains("content mismatch: read of 512 bytes at 2560, byte 100 (block 5)"), "{}", bad.log);
        assert_eq!(on(&name, "-nr 64 -verify location").all.miscompares, 0, "the first words are as they were");
        disk.lock().unwrap().data[7 * 512] ^= 1;
        let bad = on(&name, "-nr 64 -verify location");
        assert!(bad.log.contains("location mismatch: read of 512 bytes at 3584, found 3585"), "{}", bad.log);
    }),
    ("directio", || assert!(config("-targets 1 x -nr 1 -dio").unwrap().targets[0].direct)),
    ("scsigeneric", || {
        let config = config("-targets 1 /dev/null -nr 1 -sgio").unwrap();
        let request = Request { target: &config.targets[0], units: 1 };
        let error = engine::open(&request).err().unwrap();
        assert!(error.contains("SG_IO: ") && error.ends_with("leave out -sgio"), "{error}");
    }),
    ("syncwrite", || {
        assert!(ops("-op write -nr 2 -syncwrite").iter().all(|op| op.fua));
        assert!(!ops("-op write -nr 2")[0].fua);
    }),
    ("flushwrite", || assert_eq!(kinds("-op write -nr 4 -flushwrite 2").matches('f').count(), 2)),
    ("throttle", || {
        let begun = Instant::now();
        assert_eq!(ops("-nr 11 -throttle ops 200").len(), 11);
        assert!(begun.elapsed() >= Duration::from_millis(50));
        let begun = Instant::now();
        assert_eq!(ops("-nr 11 -throttle bw 0.1").len(), 11);
        assert!(begun.elapsed() >= Duration::from_millis(51));
    }),
    ("startdelay", || {
        let begun = Instant::now();
        let (left, ..) = one("-nr 1 -startdelay 0.05");
        uncounted(begun, Duration::from_millis(50), &left);
    }),
    ("timelimit", || {
        // One request per millisecond, up to the limit; a longer limit if the machine does not reach any request before
        // it.
        let some = |ms: &usize| {
            let (left, ops, _) = one(&format!("-nr 1000000000 -throttle ops 1000 -timelimit {}", *ms as f64 / 1000.0));
            assert!(ops.len() <= ms + 10 && left.result.exit_code() == 0, "{} in {ms} ms", ops.len());
            !ops.is_empty()
        };
        assert!([20, 200, 2000, 20_000].iter().any(some));
    }),
    ("deletefile", || {
        let (_dir, path) = file("t");
        std::fs::write(&path, [0; 4096]).unwrap();
        let (_, disk) = disk(8);
        DISKS.lock().unwrap().insert(path.clone(), disk);
        on(&path, "-nr 1");
        assert!(std::path::Path::new(&path).exists());
        on(&path, "-nr 1 -deletefile");
        assert!(!std::path::Path::new(&path).exists());
    }),
    ("passes", || assert_eq!(places("-nr 2 -passes 3"), [0, 1, 0, 1, 0, 1])),
    ("passdelay", || {
        let begun = Instant::now();
        let (left, ..) = one("-nr 1 -passes 3 -passdelay 0.03");
        uncounted(begun, Duration::from_millis(60), &left);
    }),
    ("runtime", || {
        // Longer each time, for a slow machine.
        let runs_on = |flags: &str, more_than: usize| {
            let enough = |ms: &u64| {
                let begun = Instant::now();
                let (left, ops, _) = one(&format!("{flags} -runtime {}", *ms as f64 / 1000.0));
                assert!(begun.elapsed() >= Duration::from_millis(*ms));
                ops.len() > more_than && left.result.tests[0].counters.total("passes").unwrap() > 1
            };
            assert!([30, 300, 3000, 30_000].iter().any(enough), "{flags}");
        };
        runs_on("-nr 4", 4);
        // A pass is as large as the target.
        runs_on("", 64);
    }),
    ("maxall", || {
        let config = config("-targets 1 x -nr 1 -maxall").unwrap();
        assert!(config.priority && config.lock);
    }),
    ("maximumpriority", || {
        let (left, _, disk) = one("-nr 1 -maxpri");
        let nice = disk.lock().unwrap().nice.clone();
        assert!(nice == "-20" || left.log.contains("priority stays as it is: "), "{nice} {}", left.log);
    }),
    ("processlock", || {
        let (left, ..) = one("-nr 1 -plock");
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap().trim().to_owned();
        assert!(locked != "0 kB" || left.log.contains("memory is not locked: "), "{locked} {}", left.log);
    }),
    ("minall", || {
        let config = config("-targets 1 x -nr 1 -maxall -minall").unwrap();
        assert!(!config.priority && !config.lock);
    }),
    ("noproclock", || assert!(!config("-targets 1 x -nr 1 -plock -noproclock").unwrap().lock)),
    ("nomemlock", || assert!(!config("-targets 1 x -nr 1 -maxall -nomemlock").unwrap().lock)),
    ("stoponerror", || {
        let (name, disk) = disk(64);
        disk.lock().unwrap().bad = Some(3);
        let all = on(&name, "-nr 64");
        assert_eq!((all.all.errors(), disk.lock().unwrap().ops.len()), (1, 64));
        assert!(all.log.contains("read of 512 bytes at 1536 (LBA 3): the medium failed"), "{}", all.log);
        assert_eq!(all.result.exit_code(), 1);
        on(&name, "-nr 64 -stoponerror");
        assert_eq!(disk.lock().unwrap().ops.len(), 64 + 4);
    }),
    ("maxerrors", || {
        let (name, disk) = disk(64);
        disk.lock().unwrap().bad = Some(0);
        on(&name, "-nr 64 -seek none -maxerrors 5");
        assert_eq!(disk.lock().unwrap().ops.len(), 5);
    }),
    ("maxerrorstoprint", || {
        let (name, disk) = disk(64);
        disk.lock().unwrap().bad = Some(0);
        let told = |text: &str| on(&name, text).log.matches("the medium failed").count();
        assert_eq!((told("-nr 64 -s none"), told("-nr 64 -s none -mep 3")), (10, 3));
    }),
    ("heartbeat", || {
        let (left, ..) = one("-nr 20 -throttle ops 100 -heartbeat 0.05");
        assert!(left.log.contains(" ops, ") && left.log.contains(" MB/s, "), "{}", left.log);
    }),
    ("identifier", || {
        assert!(one("-nr 1 -id tuesday").0.out.starts_with("ID for this run, 'tuesday'\n"));
        assert!(one("-nr 1 -id commandline").0.out.contains("-blocksize 512 -reqsize 1 -nr 1 -id commandline'"));
    }),
    ("dryrun", || {
        let (left, ops, _) = one("-nr 4 -dryrun");
        assert!(ops.is_empty() && left.out.contains("request size 512 bytes"), "{}", left.out);
    }),
    ("verbose", || {
        let (left, ..) = one("-nr 4 -passes 2 -verbose");
        assert!(left.out.contains("TARGET   PASS0001") && left.out.contains("TARGET   PASS0002"), "{}", left.out);
        assert!(!one("-nr 4").0.out.contains("PASS0001"));
    }),
    ("unverbose", || assert!(!one("-nr 4 -verbose -unverbose").0.out.contains("PASS0001"))),
    ("extendedstats", || {
        let (left, ..) = one("-nr 10 -rwratio 50 -extstats");
        assert!(left.out.contains("LATENCY  reads    min ") && left.out.contains("LATENCY  writes   min "));
        assert!(left.out.contains("99.9 % ") && left.out.contains(" over 5 requests"), "{}", left.out);
    }),
    ("output", || {
        let (_dir, path) = file("out");
        let (left, ..) = one(&format!("-nr 4 -output {path}"));
        assert!(left.out.is_empty() && std::fs::read_to_string(&path).unwrap().contains("Combined"));
    }),
    ("errout", || {
        let (_dir, path) = file("err");
        let (name, disk) = disk(64);
        disk.lock().unwrap().bad = Some(0);
        assert!(!on(&name, &format!("-nr 4 -errout {path}")).log.contains("failed"));
        assert!(std::fs::read_to_string(&path).unwrap().contains("the medium failed"));
    }),
    ("csvout", || {
        let (_dir, path) = file("csv");
        one(&format!("-nr 4 -csvout {path}"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(",Target,Q,") && text.contains("\nCombined,1,1,2048,4,"), "{text}");
    }),
    ("combinedout", || {
        let (_dir, path) = file("combined");
        one(&format!("-nr 4 -combinedout {path}"));
        one(&format!("-nr 4 -combinedout {path}"));
        assert_eq!(std::fs::read_to_string(&path).unwrap().matches("Combined").count(), 2);
    }),
    ("-json", || {
        let found = config("-targets 1 x -nr 1 --json").unwrap();
        assert_eq!(found.document, Document::Result);
        assert!(one("-nr 4 --json").0.out.is_empty(), "lines give way to the document");
    }),
    ("-fio-json", || assert_eq!(config("-targets 1 x -nr 1 --fio-json").unwrap().document, Document::Fio)),
];

#[test]
fn every_flag_has_the_effect_it_promises() {
    for (name, case) in CASES {
        println!("{name}");
        case();
    }
}

#[test]
fn every_flag_has_a_case_and_names_of_its_own() {
    let flags: Vec<_> = PROGRAM.listed().iter().map(|flag| flag.names[0].strip_prefix('-').unwrap()).collect();
    let cases: Vec<_> = CASES.iter().map(|case| case.0).collect();
    assert_eq!(flags, cases);
    let names: Vec<_> = FLAGS.iter().flat_map(Flag::names).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    let help = help();
    for flag in PROGRAM.listed() {
        assert!(help.contains(&format!("\n  {}", flag.names[0])), "{}", flag.names[0]);
    }
}

#[test]
fn what_xdd_has_and_this_one_has_not_is_refused_by_any_of_its_names() {
    for flag in FLAGS {
        let Does::Refused(why) = flag.does else { continue };
        for name in flag.names() {
            let error = config(&format!("-targets 1 x -nr 1 {name} 1 2")).unwrap_err();
            assert_eq!(error, format!("{name}: {why}"));
            assert!(why.contains("; ") && !help().contains(flag.name()), "{name}");
        }
    }
}
