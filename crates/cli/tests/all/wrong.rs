//! Tests of wrong command lines of every command: one line on standard error that names the argument and the mend, and
//! exit code 2.

use std::process::Command;

/// The words typed, the beginning of the line behind the command's name, and words of its mend.
const LINES: &[(&str, &str, &str)] = &[
    ("--frob", "linerate: --frob: ", "linerate --help"),
    ("frob", "linerate: frob: ", "give one of qualify, pkt-gen, "),
    ("qualfy", "linerate: qualfy: ", "did you mean qualify?"),
    ("pktgen -i null:", "linerate: pktgen: ", "did you mean pkt-gen?"),
    ("frob --help", "linerate: frob: ", "give one of"),
    ("help frob", "linerate: frob: ", "give one of"),
    ("help swich", "linerate: swich: ", "did you mean switch?"),
    ("help fcoe targt", "linerate fcoe: targt: ", "did you mean target?"),
    ("qualify cable:x{1", "linerate qualify: PEER is missing", "give <PEER>: the port that receives"),
    ("qualify a b c", "linerate qualify: c: ", "leave it out"),
    ("qualify --tmie 50", "linerate qualify: --tmie: ", "did you mean --time?"),
    ("qualify -time 50", "linerate qualify: -time: ", "did you mean --time?"),
    ("qualify --tmie=50", "linerate qualify: --tmie: ", "did you mean --time?"),
    ("qualify --time 5", "linerate qualify: --time 5: ", "give a number from 10 to 600000"),
    ("qualify --time -5", "linerate qualify: -5: ", "leave it out"),
    ("qualify --time 1e3", "linerate qualify: --time 1e3: not a whole number", "10 to 600000"),
    ("qualify --time 99999999999999999999", "linerate qualify: --time 9999", "10 to 600000"),
    ("qualify --time", "linerate qualify: --time: no value", "give --time <MS>: milliseconds"),
    ("qualify --time 50 --time 60", "linerate qualify: --time: it stands twice", "give it once"),
    ("qualify --json=1", "linerate qualify: --json: takes no value", "leave it out"),
    ("qualify wrong wrong", "linerate qualify: port 'wrong': ", "write "),
    ("pkt-gen", "linerate pkt-gen: no port", "-i"),
    ("pkt-gen --bogus", "linerate pkt-gen: --bogus: ", "-h lists"),
    ("pkt-gen -- -i", "linerate pkt-gen: --: ", "-h lists"),
    ("bridge", "linerate bridge: -i is missing", "give -i <PORT>: one of the two ports"),
    ("bridge -i null:", "linerate bridge: -i: 1 ports", "give -i A -i B"),
    ("bridge -i a -i b -b 0", "linerate bridge: -b 0: ", "give a number from 1 to 65536"),
    ("bridge -i a -i b --wait adaptve", "linerate bridge: --wait adaptve: ", "did you mean adaptive?"),
    ("bridge -i a -i b --wait long", "linerate bridge: --wait long: ", "give one of busy, adaptive, sleep"),
    ("switch", "linerate switch: SW is missing", "give <SW>: the switch's name"),
    ("switch lab --prots a", "linerate switch: --prots: ", "did you mean --ports?"),
    ("switch lab --mirror a", "linerate switch: --mirror a: ", "give FROM:TO"),
    ("switch lab --seconds 0", "linerate switch: --seconds 0: ", "give a number from 1 to"),
    ("switch lab show", "linerate switch: show: not together with SW", "give one of them"),
    ("switch show a b", "linerate switch show: b: one word too many", "leave it out"),
    ("switch show --wach", "linerate switch show: --wach: ", "did you mean --watch?"),
    ("ports all", "linerate ports: all: no word is taken here", "leave it out"),
    ("ports --all", "linerate ports: --all: ", "linerate ports --help"),
    ("stack", "linerate stack: no subcommand", "give one of up, show"),
    ("stack down", "linerate stack: down: ", "give one of up, show"),
    ("stack show --jsn", "linerate stack show: --jsn: ", "did you mean --json?"),
    ("stack up", "linerate stack up: -i and --addr are missing", "give -i <PORT> --addr <CIDR|auto>"),
    ("stack up -i null:", "linerate stack up: --addr is missing", "as 10.0.0.2/24"),
    ("stack up -i null: --addr 10", "linerate stack up: --addr 10: ", "write it as 10.0.0.2/24"),
    ("stack up --services ech", "linerate stack up: --services ech: ", "did you mean echo?"),
    ("stack up --nic lro", "linerate stack up: --nic: its value needs a =", "write --nic=<WORDS>"),
    ("stack up --vlan 4095", "linerate stack up: --vlan 4095: ", "give 1 to 4094"),
    ("stack up --route x", "linerate stack up: --route x: ", "write it as 0.0.0.0/0=10.0.0.1"),
    ("fcoe", "linerate fcoe: no subcommand", "give one of target, show, lun, discover"),
    ("fcoe show a b", "linerate fcoe show: b: one word too many", "leave it out"),
    ("fcoe targt", "linerate fcoe: targt: ", "did you mean target?"),
    ("fcoe disc", "linerate fcoe: disc: ", "did you mean discover?"),
    ("fcoe target -i null:", "linerate fcoe target: --lun is missing", "--lun 0=ram:64M"),
    ("fcoe target --lun 0=ram:1M", "linerate fcoe target: -i is missing", "-i xdp:eth1"),
    ("fcoe target --lun 0", "linerate fcoe target: --lun 0: ", "0=ram:64M"),
    ("fcoe target --mac 3", "linerate fcoe target: --mac 3: ", "six pairs"),
    ("fcoe initiator", "linerate fcoe initiator: --nbd is missing", "give --nbd <ADDRESS>"),
    ("fcoe initiator --nbd unix:/x", "linerate fcoe initiator: -i is missing", "-i xdp:eth1"),
    ("fcoe discover", "linerate fcoe discover: -i is missing", "-i xdp:eth1"),
    ("fcoe ls", "linerate fcoe ls: -i is missing", "-i xdp:eth1"),
    ("fcoe inq --lun x", "linerate fcoe inq: --lun x: not a whole number", "give --lun <N>: only the LUN"),
    ("fcoe read a b", "linerate fcoe read: b: one word too many", "leave it out"),
    ("fcoe read --ofset 1", "linerate fcoe read: --ofset: ", "did you mean --offset?"),
    ("fcoe write --bytes x", "linerate fcoe write: --bytes x: ", "4096 or 64M"),
    ("nic", "linerate nic: no subcommand", "give one of list, show, stats, record, set, up, vi, filter"),
    ("nic shw", "linerate nic: shw: ", "did you mean show?"),
    ("nic show", "linerate nic show: NAME is missing", "give <NAME>: an interface of the host, or -i PORT"),
    ("nic show nosuch", "linerate nic show: nosuch: ", "see 'linerate nic list'"),
    ("nic stats lo --interval x", "linerate nic stats: --interval x: ", "0.01 to 86400"),
    ("nic record lo", "linerate nic record: DIR is missing", "give <DIR>: the directory"),
    ("nic set -i null:", "linerate nic set: WORD is missing", "give <WORD>...: flags by ifconfig's"),
    ("nic up", "linerate nic up: -i is missing", "give -i <PORT>: the port (KIND:NAME"),
    ("nic up -i null: --vis 0", "linerate nic up: --vis 0: ", "give a number from 1 to 128"),
    ("nic vi", "linerate nic vi: no subcommand", "give one of add, set, del, list"),
    ("nic vi add 5", "linerate nic vi add: -i is missing", "give -i <PORT>: the port (KIND:NAME"),
    ("nic vi add -i null:", "linerate nic vi add: ID is missing", "give <ID>: number of the interface"),
    ("nic vi del -i null: 128", "linerate nic vi del: ID 128: ", "give a number from 0 to 127"),
    ("nic filter", "linerate nic filter: no subcommand", "give one of add, del, list"),
    ("nic filter add -i null:", "linerate nic filter add: WORD is missing", "give <WORD>...: match and action"),
    ("nic filter del -i null:", "linerate nic filter del: LOC is missing", "give <LOC>: location"),
    ("nic list x", "linerate nic list: x: ", "leave it out"),
    ("profile", "linerate profile: no subcommand", "give one of tx, rx"),
    ("profile tx --size 3", "linerate profile tx: --size 3: ", "give 43 to 1514"),
    ("profile rx --round 3", "linerate profile rx: --round: ", "did you mean --rounds?"),
    ("profile flood", "linerate profile flood: ADDR:PORT is missing", "as 10.0.0.1:9"),
    ("profile flood here", "linerate profile flood: ADDR:PORT here: ", "as 10.0.0.1:9"),
    ("stream", "linerate stream: no part in the test", "give -s for a server or -c HOST for a client"),
    ("stream -c x --revers", "linerate stream: --revers: ", "did you mean --reverse?"),
    ("stream -c x -t 1 -n 1", "linerate stream: -t, -n and -k: ", "give one of them"),
    ("stream -c x --sctp", "linerate stream: --sctp: ", "leave it out"),
    ("netperf -t TCP_CC", "linerate netperf: -t TCP_CC: not built here", "give one of TCP_STREAM, "),
    ("netperf -- -r 5", "linerate netperf: -r: TCP_STREAM has no requests", "leave it out"),
    ("netserver -p 0", "linerate netserver: -p 0: ", "give a number from 1 to 65535"),
    ("iperf", "linerate iperf: no part in the test", "give -s for a server or -c HOST for a client"),
    ("iperf -c x --revers", "linerate iperf: --revers: ", "did you mean --reverse?"),
    ("iperf -c x -t 1 -n 1", "linerate iperf: -t and -n: ", "give one of them"),
    ("iperf -s --permit-key", "linerate iperf: --permit-key: ", "leave it out"),
    ("xdd", "linerate xdd: no target", "give -targets 1 NAME"),
    ("xdd -bogus", "linerate xdd: -bogus: ", "-h lists"),
    (
        "xdd -targets 2 -qd 4 null:",
        "linerate xdd: -targets 2 null:: 2 names are wanted",
        "give -targets 1, or more names",
    ),
    ("xdd -targets 1 -qd 4 null: y", "linerate xdd: y: no flag, and -targets 1", "give -targets 2, or leave it out"),
    ("xdd -ofmt add +LATENSY", "linerate xdd: -ofmt add +LATENSY: ", "did you mean +LATENCY?"),
    ("xdd -interactive", "linerate xdd: -interactive: a run begins at once", "leave it out"),
    ("sweep", "linerate sweep: PLAN is missing", "give <PLAN>: a preset, or a file"),
    ("sweep t5-fco", "linerate sweep: t5-fco: No such file", "give one of t5-fcoe, "),
    ("sweep t5-fcoe --quick --full", "linerate sweep: --quick: not together with --full", "give one of them"),
    ("sweep t5-fcoe --resume", "linerate sweep: --out is missing", "give --out <DIR>: folder for"),
    ("bench chksum", "linerate bench: NAME chksum: ", "did you mean checksum?"),
    ("bench frob", "linerate bench: NAME frob: ", "give one of cable, "),
    ("runs all", "linerate runs: all: no word is taken here", "leave it out"),
    ("runs --last x", "linerate runs: --last x: not a whole number", "only the newest N runs"),
    ("runs --outcome faild", "linerate runs: --outcome faild: ", "did you mean failed?"),
    ("runs --reindex --last 1", "linerate runs: --reindex: not together with --last", "give one of them"),
    ("runs --under x", "linerate runs: --reindex is missing", "give"),
    ("show", "linerate show: RUN is missing", "give <RUN>: the run: its id"),
    ("compare a", "linerate compare: B is missing", "give <B>: the run that is held against it"),
    ("compare a b --threshold x", "linerate compare: --threshold x: ", "give 0 to 1000"),
    ("report x --format pdf", "linerate report: --format pdf: ", "give one of html, md, csv, svg"),
    ("export x", "linerate export: --format is missing", "give --format <FORM>: form to write"),
    ("export x --format jsn", "linerate export: --format jsn: ", "did you mean json?"),
    ("import", "linerate import: FILE is missing", "give <FILE>...: files to read"),
    ("import --format iperf4 x", "linerate import: --format iperf4: ", "did you mean iperf"),
    ("completions", "linerate completions: SHELL is missing", "give <SHELL>: the shell"),
    ("completions bsh", "linerate completions: SHELL bsh: ", "did you mean bash?"),
    ("completions nushell", "linerate completions: SHELL nushell: ", "give one of bash, "),
    ("man", "linerate man: DIR is missing", "give <DIR>: folder to write them to"),
    ("man /dev/null/man", "linerate man: /dev/null/man: ", "give a directory"),
    ("bench --rounds 0", "linerate bench: --rounds 0: ", "give a number from 1 to 100"),
];

#[test]
fn every_command_names_the_argument_and_the_mend_in_one_line() {
    for (typed, begins, mend) in LINES {
        let out = Command::new(env!("CARGO_BIN_EXE_linerate")).args(typed.split(' ')).output().unwrap();
        let line = String::from_utf8(out.stderr).unwrap();
        assert_eq!((out.status.code(), out.stdout.len(), line.lines().count()), (Some(2), 0, 1), "{typed}: {line}");
        assert!(line.starts_with(begins), "{typed}: {line}");
        assert!(line[begins.len()..].contains(mend), "{typed}: {line}");
        assert!(!line.contains(":;") && !line.contains("panicked"), "{typed}: {line}");
    }
}

/// Checks that every command has a row.
#[test]
fn the_table_has_every_command() {
    let out = Command::new(env!("CARGO_BIN_EXE_linerate")).arg("frob").output().unwrap();
    let line = String::from_utf8(out.stderr).unwrap();
    let (_, names) = line.trim().split_once("give one of ").unwrap();
    for name in names.split(", ") {
        assert!(LINES.iter().any(|(typed, ..)| typed.split(' ').next() == Some(name)), "{name}");
    }
}
