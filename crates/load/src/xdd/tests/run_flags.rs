//! Cases of flags from `-passes` on: those of the run as a whole, and of its output.

use super::flags::{Case, file, uncounted};
use super::*;
use std::time::{Duration, Instant};

/// Cases of these flags.
pub(super) const CASES: &[Case] = &[
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
    ("syncio", || {
        let [(a, _), (b, _)] = [disk(64), disk(64)];
        let text = format!("-targets 2 {a} {b} -bs 512 -rs 1 -nr 10 -passes 2 -throttle target 0 ops 100 -syncio 4");
        let left = run_config(&config(&text).unwrap()).unwrap();
        // The other begins its ninth request when this one has begun eight, in both passes.
        let ns = left.targets[1].elapsed_ns;
        assert!(ns >= 2 * 70_000_000 && left.all.ops() == 40, "{ns} ns");
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
        let rows = [
            " TARGET_PASS          1",
            " TARGET_PASS          2",
            " TARGET_AVERAGE       2",
            " COMBINED             2",
        ];
        assert!(rows.iter().all(|row| left.out.contains(&format!("\n{row}       "))), "{}", left.out);
        assert!(!one("-nr 4").0.out.contains("TARGET_"));
    }),
    ("unverbose", || assert!(!one("-nr 4 -verbose -unverbose").0.out.contains("TARGET_"))),
    ("outputformat", || {
        let (left, ..) = one("-nr 4 -outputformat new +PASS+OPS -ofmt add +READOPS");
        assert!(
            left.out.ends_with(
                "\n   Pass         Ops    Read_Ops\n Number        #ops        #ops\n      1           4           4\n"
            ),
            "{}",
            left.out
        );
        let (left, ..) = one("-nr 4 -ofmt add +WRITEOPS");
        let lines: Vec<_> = left.out.lines().rev().take(3).collect();
        assert!(
            lines[2].ends_with("   Xfer_Size   Write_Ops") && lines[0].ends_with("         512           0"),
            "{lines:?}"
        );
    }),
    ("percentcpu", || {
        let relative = |text: &str| config(&format!("-targets 1 x -nr 1 {text}")).unwrap().relative;
        assert!(relative("-percentcpu relative") && !relative("-pcpu relative -pcpu absolute"));
        let (left, ..) = one("-nr 1000 -pcpu relative -ofmt new +PERCENTCPU");
        let percent = left.out.lines().last().unwrap().trim();
        assert!(
            percent == "100.000" || percent == "-1.000",
            "all of it, unless it is too little to be counted: {percent}"
        );
    }),
    ("timerinfo", || {
        let (left, ..) = one("-nr 1 -timerinfo");
        let line = left.out.lines().find(|line| line.starts_with("Timer, ")).unwrap();
        let ns: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert!(line.contains(" ns a reading, smallest step ") && ns[0] > 0.0 && ns[1] > 0.0, "{line}");
    }),
    ("extendedstats", || {
        let (left, ..) = one("-nr 10 -rwratio 50 -extstats");
        assert!(left.out.contains("LATENCY  reads    min ") && left.out.contains("LATENCY  writes   min "));
        assert!(left.out.contains("99.9 % ") && left.out.contains(" over 5 requests"), "{}", left.out);
    }),
    ("output", || {
        let (_dir, path) = file("out");
        let (left, ..) = one(&format!("-nr 4 -output {path}"));
        assert!(left.out.is_empty() && std::fs::read_to_string(&path).unwrap().contains("COMBINED"));
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
        let lines: Vec<_> = text.lines().map(|line| line.split(',').map(str::trim).collect::<Vec<_>>()).collect();
        assert_eq!((lines[0][0], lines[0][4], lines[1][0], lines[1][4]), ("What", "Bytes_Xfered", "UNITS>>", "Bytes"));
        assert_eq!((lines.len(), &lines[2][..6]), (3, &["COMBINED", "1", "1", "1", "2048", "4"][..]));
    }),
    ("combinedout", || {
        let (_dir, path) = file("combined");
        one(&format!("-nr 4 -combinedout {path}"));
        one(&format!("-nr 4 -combinedout {path}"));
        assert_eq!(std::fs::read_to_string(&path).unwrap().matches(" COMBINED      ,").count(), 2);
    }),
    ("-json", || {
        let found = config("-targets 1 x -nr 1 --json").unwrap();
        assert_eq!(found.document, Document::Result);
        assert!(one("-nr 4 --json").0.out.is_empty(), "lines give way to the document");
    }),
    // The command keeps what it is asked to keep; the run is the same.
    ("-keep", || {
        let keeps = |text: &str| config(&format!("-targets 1 x -nr 1 {text}")).unwrap().keep;
        assert!(keeps("--keep") && !keeps("--json") && !one("-nr 4 --keep").0.out.is_empty());
    }),
    ("-fio-json", || assert_eq!(config("-targets 1 x -nr 1 --fio-json").unwrap().document, Document::Fio)),
];
