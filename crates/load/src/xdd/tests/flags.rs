//! A case for every flag of the table that shows its effect; no flag is without a case.

use super::*;
use crate::flags::{Does, Flag};
use crate::xdd::flags::{FLAGS, PROGRAM};
use linerate_rt::fc::Integrity;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

pub(super) type Case = (&'static str, fn());

pub(super) fn file(name: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name).to_str().unwrap().to_owned();
    (dir, path)
}

/// Checks that a run waited so long, and that this time is not part of its measurement.
pub(super) fn uncounted(begun: Instant, waited: Duration, left: &Left) {
    let measured = Duration::from_nanos(left.all.elapsed_ns);
    assert!(begun.elapsed() >= waited + measured, "{measured:?} beside {waited:?} of waiting");
}

fn kinds(text: &str) -> String {
    ops(text).iter().map(|op| op.what).collect()
}

/// Cases of flags up to those of the run as a whole.
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
        let error = run_config(&config(&format!("-targets 1 {} -nr 1 -pr 0 4095", disk(8).0)).unwrap()).err().unwrap();
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
    ("randomize", || {
        let passes = |text: &str| {
            let all = places(&format!("-nr 20 -passes 2 -seek random {text}"));
            (all[..20].to_vec(), all[20..].to_vec())
        };
        let ((first, second), (again, other)) = (passes(""), passes("-randomize"));
        assert!(first == second && first == again && first != other, "{first:?} {other:?}");
    }),
    ("serialordering", || {
        let (left, ops, disk) = one("-nr 32 -qd 7 -serialordering");
        assert_eq!((disk.lock().unwrap().most, ops.len(), left.all.ops()), (1, 32, 32));
    }),
    ("noordering", || assert_eq!(one("-nr 32 -qd 7 -so -noordering").2.lock().unwrap().most, 7)),
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
    ("pi", || {
        let pi = |text: &str| config(&format!("-targets 1 fcoe:x -nr 1 {text}")).map(|config| config.targets[0].pi);
        assert_eq!((pi(""), pi("-pi crc")), (Ok(None), Ok(Some(Integrity::default()))));
        assert_eq!(pi("-pi off"), Ok(Some(Integrity::OFF)));
        assert!(pi("-pi md5").unwrap_err().contains("give crc, ip or off"));
    }),
    ("-wwpn", || {
        let own = |text: &str| config(&format!("-targets 1 fcoe:x -nr 1 {text}")).map(|config| config.targets[0].wwpn);
        let named = "20:00:02:00:00:00:00:21";
        assert_eq!((own(""), own(&format!("--wwpn {named}"))), (Ok(None), Ok(Some(named.parse().unwrap()))));
        assert!(config(&format!("-targets 1 ram:1M -nr 1 --wwpn {named}")).unwrap_err().contains("--wwpn: only a LUN"));
    }),
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
    ("operationdelay", || {
        for flag in ["-opdelay 0.02", "-throttle delay 0.02"] {
            let (left, ..) = one(&format!("-nr 4 {flag}"));
            assert!(left.all.elapsed_ns >= 60_000_000, "{flag}: {} ns", left.all.elapsed_ns);
        }
    }),
    ("retry", || {
        let (name, disk) = disk(64);
        disk.lock().unwrap().bad = Some(3);
        disk.lock().unwrap().heals = Some(2);
        let left = on(&name, "-op write -dp sequenced -nr 8 -qd 2 -retry 2");
        assert_eq!((left.all.errors(), left.all.ops(), left.all.retries, left.result.exit_code()), (0, 8, 2, 0));
        assert!(left.out.ends_with("\nRetries, 2\n"), "{}", left.out);
        assert_eq!(disk.lock().unwrap().ops.iter().filter(|op| op.at == 3 * 512).count(), 3);
        assert_eq!(disk.lock().unwrap().data[3 * 512..][..8], 1536u64.to_le_bytes(), "written once more, and whole");
        disk.lock().unwrap().heals = None;
        let left = on(&name, "-nr 8 -retry 2");
        assert_eq!((left.all.errors(), left.all.ops(), left.all.retries), (1, 7, 2), "the next one goes on");
        assert_eq!(on(&name, "-nr 8").all.retries, 0);
    }),
    ("reportthreshold", || {
        let (left, ..) = one("-nr 12 -startoffset 2 -reportthreshold 0");
        assert!(left.out.contains("): read of 512 bytes at 1024 (LBA 2) took "), "{}", left.out);
        assert!(left.out.contains(", the threshold is 0 us\n"), "{}", left.out);
        assert_eq!((left.out.matches(" took ").count(), left.all.errors()), (10, 0), "as many as errors");
        assert!(left.out.ends_with("\nThreshold exceeded, 12 requests\n"), "{}", left.out);
        assert!(!one("-nr 12 -rept 1000").0.out.contains("hreshold"));
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
    ("pretruncate", || {
        let (_dir, path) = file("t");
        let go = |text: &str| {
            let text = format!("-targets 1 {path} -bs 512 -rs 1 -nr 2 -dp x {text}");
            run_opened_by(&config(&text)?, engine::open).map(|_| std::fs::read(&path).unwrap())
        };
        std::fs::write(&path, [7; 1 << 16]).unwrap();
        assert_eq!(go("-op write").unwrap().len(), 1 << 16, "a longer file stays as it is");
        let bytes = go("-op write -pretruncate 8192").unwrap();
        assert_eq!((bytes.len(), bytes[1023], bytes[1024]), (8192, b'x', 7));
        assert_eq!(go("-op write -pt 512").unwrap().len(), 1024, "then as long as the pass needs it");
        let why = |text: &str| go(text).unwrap_err();
        assert!(why("-op read -pt 512").ends_with("-pretruncate: it is no file that is written; leave it out"));
        assert!(why("-targets 1 /dev/null -op write -pt 512").ends_with("it is no regular file; leave it out"));
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
];

/// One case per flag.
fn cases() -> impl Iterator<Item = &'static Case> {
    CASES.iter().chain(super::run_flags::CASES)
}

#[test]
fn every_flag_has_the_effect_it_promises() {
    for (name, case) in cases() {
        println!("{name}");
        case();
    }
}

#[test]
fn every_flag_has_a_case_and_names_of_its_own() {
    let flags: Vec<_> = PROGRAM.listed().iter().map(|flag| flag.names[0].strip_prefix('-').unwrap()).collect();
    let cases: Vec<_> = cases().map(|case| case.0).collect();
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
