//! Tests of command lines: targets and their names, the published line, xdd's own flags, and what is wrong.

use super::*;
use crate::flags::Flag;
use crate::xdd::flags::FLAGS;
use std::collections::BTreeSet;
use std::time::Duration;

#[test]
fn a_target_is_told_apart_by_its_number() {
    let found = config("-targets 2 a b -nr 1 -op target 1 write -qd 4 -rs target 0 7 -op read").unwrap();
    let shown: Vec<_> = found.targets.iter().map(|t| (t.reads, t.depth, t.request_blocks)).collect();
    assert_eq!(shown, [(WHOLE, 4, 7), (WHOLE, 4, 128)], "the last word counts");
    let found = config("-targets 2 a b -nr 1 -op read -op target 1 write").unwrap();
    assert_eq!((found.targets[0].reads, found.targets[1].reads), (WHOLE, 0));
    assert!(config("-targets 1 a -nr 1 -op target 1 read").unwrap_err().contains("there is no such target"));
}

#[test]
fn the_published_command_parses_as_printed() {
    let devices: Vec<String> = (1..=12).map(|n| format!("/dev/sg{n}")).collect();
    for ratio in [0, 50, 100] {
        let text = format!(
            "-sgio -op read -targets 12 -rwratio {ratio} {} -queuedepth 16 -reqsize 8 -blocksize 512 -numreqs 2097152 \
             -runtime 30 -datapattern sequenced -maxall",
            devices.join(" ")
        );
        let found = config(&text).unwrap();
        assert_eq!((found.targets.len(), found.runtime, found.priority), (12, Some(Duration::from_secs(30)), true));
        let last = &found.targets[11];
        assert_eq!((last.name.as_str(), last.sg, last.reads, last.depth), ("/dev/sg12", true, ratio * 100, 16));
        assert_eq!((last.request_bytes(), last.amount), (4096, Amount::Requests(2_097_152)));
        assert_eq!(last.pattern.base, Base::Sequenced);
        // With the names where xdd's own usage has them it is the same.
        let usual = text
            .replace(&format!("-rwratio {ratio} {}", devices.join(" ")), "")
            .replace("-targets 12", &format!("-targets 12 {} -rwratio {ratio}", devices.join(" ")));
        assert_eq!(config(&usual).unwrap(), found);
    }
}

#[test]
fn the_published_command_runs_as_printed_on_devices_that_are_here() {
    let text = "-op read -targets 2 -rwratio 100 ram:1M null:1G -queuedepth 16 -reqsize 1 -blocksize 512 -numreqs 1000 \
                -datapattern sequenced -maxall";
    let left = run_opened_by(&config(text).unwrap(), engine::open).unwrap();
    assert_eq!((left.all.reads.ops, left.all.writes.ops, left.all.errors()), (2000, 0, 0));
    assert_eq!(left.targets.iter().map(Account::bytes).collect::<Vec<_>>(), [512_000; 2]);
    let last: Vec<_> = left.out.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(last[..6], ["COMBINED", "1", "2", "16", "1024000", "2000"]);
}

#[test]
fn names_that_are_missing_behind_targets_are_the_words_that_follow_where_a_flag_may_stand() {
    let names = |text: &str| {
        let found = config(&format!("{text} -nr 1")).unwrap();
        found.targets.iter().map(|target| format!("{}.{}", target.name, target.unit)).collect::<Vec<_>>().join(" ")
    };
    for (text, expected) in [
        ("-targets 2 -rwratio 100 a b", "a.0 b.0"),
        ("-targets 2 a -qd 4 b", "a.0 b.0"),
        ("-targets 2 a -qd 4 -target c b", "a.0 b.0 c.0"),
        ("-targets 2 -targets 1 -sgio /a /b /c", "/a.0 /b.0 /c.0"),
        ("-targets -3 -qd 4 a", "a.0 a.0 a.0"),
        ("-targets 3 -qd 4 fcoe:cable:san{1", "fcoe:cable:san{1.0 fcoe:cable:san{1.1 fcoe:cable:san{1.2"),
        // Values of flags are no names, whatever they are.
        ("-targets 1 -id name a", "a.0"),
        ("-targets 2 -op target 1 write a b", "a.0 b.0"),
    ] {
        assert_eq!(names(text), expected, "{text}");
    }
    for (text, line) in [
        (
            "-targets 2 -rwratio 100 a -nr 1",
            "-targets 2 a: 2 names are wanted, there are 1; give -targets 1, or more names",
        ),
        (
            "-targets 2 -rwratio 100 -nr 1",
            "-targets 2: no names; give one for each target, behind it or behind a later flag",
        ),
        (
            "-targets 2 -rwratio 100 a b c -nr 1",
            "c: no flag, and -targets 2 has all of its names; give -targets 3, or leave it out",
        ),
        ("-targets 2 a b c -nr 1", "c: no flag, and -targets 2 has all of its names; give -targets 3, or leave it out"),
        ("-targets -3 -qd 4 a y -nr 1", "y: no flag, and -targets -3 has all of its names; leave it out"),
        ("-targets 1000 -targets 25 -nr 1", "-targets 25: give how many, 1024 at most in all, and their names"),
    ] {
        assert_eq!(config(text).unwrap_err(), line, "{text}");
    }
}

/// All flags of xdd 7.0.0's usage, hidden ones too, each by its name and its short name.
const XDD: &str = "\
    blocksize bs bytes b combinedout combo congestion cookie createnewfiles cnf csvout csvo datapattern dp debug \
    deletefile del devicefile devf directio dio dryrun dry endtoend e2e errout eo extendedstats extstats \
    flushwrite fw fullhelp exthelp heartbeat hb help h identifier id interactive inter kbytes kb lockstep ls \
    looseordering lo maxall maxerrors maxerrorstoprint mep maximumpriority maxpri mbytes mb memalign mal minall \
    multipath mp nobarrier nb nomemlock nomlock noordering no noproclock noplock numreqs nr operationdelay opdelay \
    operation op ordering or output o outputformat ofmt passdelay pdelay passes p passoffset po percentcpu pcpu \
    preallocate pa pretruncate pt processlock plock processor pr queuedepth qd randomize rand readafterwrite raw \
    reallyverbose rv recreatefiles recreate reopen reop reportthreshold rept reqsize rs restart rst retry ret \
    roundrobin rr runtime rt rwratio rw seek s serialordering so setup scsigeneric sgio sharedmemory shm \
    singleproc sp startdelay sd startoffset sto starttime stime starttrigger st stoponerror soe stoptrigger et \
    syncio sio syncwrite sw target targetdir td targetin tin targetoffset to targets targetstartdelay tsd \
    targetout tout throttle throt timelimit tl timerinfo ti timeserver tsvr timestamps ts unverbose unv verbose \
    verify version ver writeafterread war xni ibdevice";

#[test]
fn every_flag_of_xdd_has_its_effect_or_is_refused_by_name() {
    let known: BTreeSet<_> = FLAGS.iter().flat_map(Flag::names).collect();
    let unknown: Vec<_> = XDD.split_whitespace().filter(|name| !known.contains(&&*format!("-{name}"))).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert_eq!(XDD.split_whitespace().count(), 181);
    // A short name is the short name of the same flag as in xdd.
    for (name, short) in
        [("-processor", "-pr"), ("-pretruncate", "-pt"), ("-serialordering", "-so"), ("-retry", "-ret")]
    {
        let row = FLAGS.iter().find(|flag| flag.names().any(|known| known == name)).unwrap();
        assert!(row.names().any(|known| known == short), "{short}");
    }
}

#[test]
fn what_is_wrong_is_one_line_that_names_the_flag() {
    for (text, part) in [
        ("", "no target; give -targets 1 NAME"),
        ("-targets 1 x", "no end; give -numreqs, -mbytes or -runtime"),
        ("-targets 2 x -nr 1", "-targets 2 x: 2 names are wanted, there are 1; give -targets 1"),
        ("-targets 0 x -nr 1", "-targets 0: give how many"),
        ("-targets", "-targets: no value; give -targets N NAME..."),
        ("-nonsense", "-nonsense: no such flag"),
        ("nonsense", "nonsense: not a flag"),
        ("-targets 1 x -queudepth 4", "-queudepth: no such flag; did you mean -queuedepth?"),
        ("-targets 1 x --numreqs 4", "--numreqs: no such flag; did you mean -numreqs?"),
        ("-targets 1 x op write", "op: no such flag; did you mean -op?"),
        ("-target 1 x", "x: not a flag"),
        ("x -nr 1", "x: not a flag"),
        ("-targets 1 x -op noop", "-op noop: noop: there are no requests without data"),
        ("-targets 1 x -nr 1 -ofmt new PASS", "-ofmt new PASS: columns begin with a plus sign"),
        ("-targets 1 x -nr 1 -ofmt add +PAS", "+PAS: no such column; did you mean +PASS?"),
        ("-targets 1 x -nr 1 -ofmt +PASS", "-ofmt +PASS: give add or new, and columns"),
        ("-targets 1 x -nr 1 -pcpu much", "-pcpu much: give absolute or relative"),
        ("-targets 1 x -nr 1 -retry 0", "-retry 0: give a number from 1"),
        ("-targets 1 x -nr 1 -throttle var 1", "-throttle var: give ops N or bw MB, both a second, or delay S"),
        ("-targets 1 x -nr 1 -syncio 4", "-syncio: there is one target"),
        ("-targets 1 x -nr 1 -randomize", "-randomize: places are not random; give -seek random too"),
        ("-targets 1 x -nr 1 -xni tcp", "-xni: no copies between machines"),
        ("-targets 1 x -op verify", "-op verify: give read or write"),
        ("-targets 1 x -nr 1 -rwratio 101", "-rwratio 101: give a number from 0 to 100"),
        ("-targets 1 x -nr 1 -rwratio nan", "-rwratio nan: give a number"),
        ("-targets 1 x -nr 1 -qd 0", "-qd 0: give a number from 1 to 1024"),
        ("-targets 1 x -nr 1 -qd 99999999999999999999", "give a number from 1 to 1024"),
        ("-targets 1 x -nr 1 -bs 16777216 -rs 2", "larger than 16 MiB"),
        ("-targets 1 x -nr 1 -bs 4096 -rs 4096 -qd 1024", "more than 4 GiB"),
        ("-targets 1 x -nr 1 -seek sideways", "-seek sideways: there is no such way"),
        ("-targets 1 x -nr 1 -seek stagger", "-seek stagger: stagger: not done here"),
        ("-targets 1 x -nr 1 -dp nonsense", "there is no such pattern"),
        ("-targets 1 x -nr 1 -dp hex 1", "pairs of hexadecimal digits"),
        ("-targets 1 x -nr 1 -dp prefix 1", "the pattern has no words"),
        ("-targets 1 x -nr 1 -dp replicate", "there is no text"),
        ("-targets 1 x -nr 1 -op write -verify contents", "nothing is read"),
        ("-targets 1 x -nr 1 -syncwrite", "nothing is written"),
        ("-targets 1 x -nr 1 -passdelay 1", "there is one pass"),
        ("-targets 1 x -nr 1 -seek random -passoffset 1", "places are random"),
        ("-targets 1 x -nr 1 -e2e issource", "no copies between machines"),
        ("-targets 1 x -nr 1 -lockstep 0 1", "targets run freely"),
        ("-targets 1 x -nr 1 -memalign 512", "multiples of 4096"),
        ("-setup /nowhere/at/all", "-setup /nowhere/at/all: "),
        ("-targets 1 x -nr 1 -runtime 0", "-runtime 0: give a number from 0.001"),
    ] {
        let error = config(text).unwrap_err();
        assert!(error.contains(part) && !error.contains('\n'), "{text}: {error}");
    }
    for (flag, path) in [("-output", "/nowhere/a"), ("-csvout", "/nowhere/b"), ("-combinedout", "/nowhere/c")] {
        let config = config(&format!("-targets 1 x -nr 1 {flag} {path}")).unwrap();
        let error = run_config(&config).err().unwrap();
        assert!(error.starts_with(&format!("{flag} {path}: ")), "{error}");
    }
}
