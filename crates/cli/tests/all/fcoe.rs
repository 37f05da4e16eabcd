//! Tests of `linerate fcoe` as in docs/disks.md: a target, and one initiator after the other, over a cable between
//! processes.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, LIMIT, Process, SEARCH, counter};
use linerate_host::{Cause, Namespace, VethPair};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Runs a command, killed if it hangs.
fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new("timeout").arg(LIMIT.as_secs().to_string()).arg(program).args(arguments).output().unwrap()
}

fn fcoe(arguments: &[&str]) -> Output {
    let searches = ["ls", "inq", "read", "write"].contains(&arguments[0]) && !arguments.contains(&SEARCH[0]);
    let search: &[&str] = if searches { &SEARCH } else { &[] };
    run(BINARY, &[&["fcoe"], arguments, search].concat())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn path(dir: &Path, name: &str) -> String {
    dir.join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_disk_over_ethernet_between_two_shells() {
    let name = format!("san-{}", std::process::id());
    let (theirs, ours) = (format!("cable:{name}{{1,mtu=2180"), format!("cable:{name}}}1"));
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..3 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(dir.path().join("in"), &bytes).unwrap();
    std::fs::write(dir.path().join("odd"), &bytes[..1000]).unwrap();
    let disk = path(dir.path(), "disk");
    std::fs::write(&disk, vec![0; 8 << 20]).unwrap();

    let luns = ["--lun", "0=ram:64M", "--lun", &format!("5=file:{disk}"), "--lun", "7=null:1T"];
    let target = Process::linerate(&[&["fcoe", "target", "-i", &theirs], &luns[..]].concat(), "LUN 7");

    let found = fcoe(&["discover", "-i", &ours]);
    assert!(found.status.success() && said(&found).contains("  target\n"), "{}", said(&found));
    let listed = said(&fcoe(&["ls", "-i", &ours]));
    for line in ["LUN 0     LINERATE ram", "67108864 bytes", "LUN 5", "8388608 bytes", "LUN 7", "1099511627776 bytes"] {
        assert!(listed.contains(line), "{line} in {listed}");
    }
    let asked = fcoe(&["inq", "-i", &ours, "--lun", "5", "--json"]);
    let asked: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!((&asked["luns"][0]["blocks"], &asked["luns"][0]["product"]), (&16384.into(), &"file".into()));
    assert_eq!(asked["luns"].as_array().unwrap().len(), 1);

    for (lun, offset, length) in [("0", "65536", "3145728"), ("5", "64k", "3M")] {
        let input = path(dir.path(), "in");
        let wrote = fcoe(&["write", "-i", &ours, "--lun", lun, "--offset", offset, &input]);
        assert!(wrote.status.success() && said(&wrote).contains("3145728 bytes to "), "{}", said(&wrote));
        let read = fcoe(&["read", "-i", &ours, "--lun", lun, "--offset", offset, "--bytes", length, "-"]);
        assert!(read.status.success() && read.stdout == bytes, "{}", String::from_utf8_lossy(&read.stderr));
    }
    assert!(std::fs::read(&disk).unwrap()[65536..].starts_with(&bytes), "it is in the file");

    for (wrong, why) in [
        (&["read", "--lun", "3", "-"][..], "no LUN 3"),
        (&["read", "--lun", "0", "--offset", "100", "-"], "multiples"),
        (&["read", "--lun", "0", "--bytes", "1T", "-"], "beyond"),
        (&["write", "--lun", "0", &path(dir.path(), "odd")], "multiple"),
    ] {
        let output = fcoe(&[&wrong[..1], &["-i", &ours], &wrong[1..]].concat());
        assert_eq!(output.status.code(), Some(1), "{wrong:?}: {}", said(&output));
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(line.contains(why) && line.lines().count() == 1, "{wrong:?}: {line}");
    }
    let socket = path(dir.path(), "lun");
    let mut server =
        Process::linerate(&["fcoe", "initiator", "-i", &ours, "--nbd", &format!("unix:{socket}")], "address");
    let first = server.until("/0: ").split([' ']).nth(1).unwrap().trim_end_matches(':').replace(':', "%3A");
    if run("qemu-img", &["--version"]).status.success() {
        let uri = format!("nbd+unix:///{first}?socket={socket}");
        let info = run("qemu-img", &["info", &uri]);
        assert!(said(&info).contains("67108864 bytes"), "{}", said(&info));
        let copied = run("qemu-img", &["convert", "-O", "raw", &uri, &path(dir.path(), "copy")]);
        assert!(copied.status.success(), "{}", said(&copied));
        assert!(std::fs::read(dir.path().join("copy")).unwrap()[65536..].starts_with(&bytes));
    } else {
        linerate_skip::skip!("qemu-img is not installed");
    }
    server.stop();
    // The existing file is kept when the LUN does not exist.
    let kept = path(dir.path(), "in");
    for (port, seconds, what) in [(&ours, "30", "no LUN 3"), (&format!("{ours}0"), "3", "The link is down")] {
        let read = fcoe(&["read", "-i", port, "--timeout", seconds, "--lun", "3", &kept]);
        assert!(read.status.code() == Some(1) && said(&read).contains(what), "{}", said(&read));
        assert!(std::fs::read(&kept).unwrap() == bytes);
    }
    let counters = target.stop();
    for nothing in ["frames_bad_crc", "frames_refused", "frames_spoiled"] {
        assert_eq!(counter(&counters, nothing), 0, "{counters}");
    }
}

/// Of a hundred frames three are overtaken by the next one and three come twice, both ways: no command is given up or sent
/// again for that, and every byte is right.
#[test]
fn frames_that_overtake_each_other_cost_no_command() {
    let name = format!("early-{}", std::process::id());
    let theirs = format!("cable:{name}{{1,mtu=2180,faults=reorder:0.03/dup:0.03/seed:1");
    let ours = format!("cable:{name}}}1,faults=reorder:0.03/dup:0.03/seed:2");
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..8 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let input = path(dir.path(), "in");
    std::fs::write(&input, &bytes).unwrap();
    let target = Process::linerate(&["fcoe", "target", "-i", &theirs, "--lun", "0=ram:16M"], "LUN 0");
    let wrote = fcoe(&["write", "-i", &ours, &input]);
    assert!(wrote.status.success() && said(&wrote).contains("8388608 bytes to "), "{}", said(&wrote));
    let read = fcoe(&["read", "-i", &ours, "--bytes", "8M", "-"]);
    assert!(read.status.success() && read.stdout == bytes, "{}", String::from_utf8_lossy(&read.stderr));
    let counters = target.stop();
    assert!(counter(&counters, "frames_early") > 0, "{counters}");
    for nothing in ["exchanges_aborted", "exchanges_expired", "frames_bad_crc"] {
        assert_eq!(counter(&counters, nothing), 0, "{counters}");
    }
}

/// `linerate fcoe …` with a directory of its own for the sockets of cables.
fn in_place(place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.env("XDG_RUNTIME_DIR", place).arg("fcoe").args(arguments);
    command
}

/// True if a process listens at a UNIX socket; its file exists before that.
fn is_listening(socket: &Path) -> bool {
    // Fields: number, count, protocol, flags (__SO_ACCEPTCON), type, state, inode, path.
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
    sockets.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.get(3) == Some(&"00010000") && words.last() == Some(&socket.to_str().unwrap())
    })
}

/// Runs the guide's first lines with these options of the target's port.
fn guides_lines(options: &str, mtu: u16, target_first: bool) {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let theirs = format!("cable:san{{1{options}");
    let target = || Process::start(in_place(place, &["target", "-i", &theirs, "--lun", "0=ram:64M"]));
    let ours =
        |what: &str, more: &[&str]| Process::start(in_place(place, &[&[what, "-i", "cable:san}1"], more].concat()));
    let first_listens = || {
        let until = Instant::now() + LIMIT;
        while !is_listening(&place.join("linerate/cable-san#1.sock")) {
            assert!(Instant::now() < until, "nobody opened the cable");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let (mut target, listed) = if target_first {
        let target = target();
        first_listens();
        (target, ours("ls", &SEARCH))
    } else {
        let listed = ours("ls", &SEARCH);
        first_listens();
        (target(), listed)
    };
    target.until(&format!(", MTU {mtu}, "));
    let listed = listed.done();
    assert!(listed.contains("LUN 0     LINERATE ram              67108864 bytes"), "{listed}");
    let (image, back) = (path(place, "disk.img"), path(place, "back.bin"));
    let bytes: Vec<u8> = (0..2 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(&image, &bytes).unwrap();
    assert!(
        ours("write", &[&SEARCH[..], &["--lun", "0", &image]].concat()).done().starts_with("2097152 bytes to 20:00:")
    );
    let read = ours("read", &[&SEARCH[..], &["--lun", "0", "--bytes", "1M", &back]].concat());
    assert!(read.done().starts_with("1048576 bytes from 20:00:"));
    assert!(std::fs::read(&back).unwrap() == bytes[..1 << 20]);
    let mut initiator = ours("initiator", &["--nbd", &format!("unix:{}", path(place, "lun"))]);
    initiator.until("serves NBD at nbd+unix:///?socket=/");
    initiator.until("/0: LINERATE ram");
    initiator.stop();
    let said = target.stop();
    // Initiators that log in and out are printed by name.
    let names = |what: &str| -> Vec<&str> {
        said.lines().filter(|line| line.contains(what)).filter_map(|line| line.split(' ').next()).collect()
    };
    assert_eq!(names(" logged in: initiator"), names(": the session is over: "), "{said}");
}

/// Regression: a process that opened the guide's cable without an MTU before the target gave it 1500, and the target,
/// which wanted 2180, did not start. FCoE's MTU need not be given, and the second process takes the MTU of the first.
#[test]
fn the_guides_lines_work_whoever_opens_the_cable_first() {
    std::thread::scope(|scope| {
        let cases = [
            ("", 2180, false),
            ("", 2180, true),
            (",mtu=2180", 2180, false),
            (",mtu=2180", 2180, true),
            (",mtu=1500", 1500, true),
        ];
        let runs = cases.map(|(options, mtu, first)| scope.spawn(move || guides_lines(options, mtu, first)));
        runs.into_iter().for_each(|run| run.join().unwrap());
    });
}

/// Over the kernel's interfaces, which must accept the node's addresses; some kinds need root.
/// FIP VLAN discovery: who has a VLAN tells it, and who asks where there is none has no tag.
#[test]
fn a_vlan_is_found_without_being_told() {
    for (given, line) in [(&["--vlan", "100"][..], "VLAN 100, told by "), (&[], "nobody tells of a VLAN")] {
        let name = format!("san-vlan{}-{}", given.len(), std::process::id());
        let (theirs, ours) = (format!("cable:{name}{{1,mtu=2184"), format!("cable:{name}}}1"));
        let target = [&["fcoe", "target", "-i", &theirs, "--lun", "0=ram:8M"], given].concat();
        let _target = Process::linerate(&target, "LUN 0");
        let listed = fcoe(&["ls", "-i", &ours, "--vlan", "auto"]);
        assert!(listed.status.success() && said(&listed).contains("8388608 bytes"), "{}", said(&listed));
        assert!(String::from_utf8_lossy(&listed.stderr).contains(line), "{}", said(&listed));
    }
}

/// Regression: who asks for a VLAN on a link that is down waited without a word.
#[test]
fn a_vlan_is_asked_for_once_the_link_is_up() {
    let ours = format!("cable:san-later-{}}}1", std::process::id());
    let ls = ["8", BINARY, "fcoe", "ls", "-i", &ours, "--vlan", "auto"];
    let waits = Command::new("timeout").args(ls).output().unwrap();
    assert_eq!(waits.status.code(), Some(124));
    assert!(
        String::from_utf8_lossy(&waits.stderr).contains("the link is down: the VLAN is asked for"),
        "{}",
        said(&waits)
    );
}

/// Regression: of two VLANs one was taken, by chance, without a word of the other.
#[test]
fn of_two_vlans_none_is_taken() {
    let name = format!("vl{}", std::process::id());
    let _switch = Process::linerate(&["switch", &name], "runs");
    let targets = [("a", "100"), ("b", "200")].map(|(port, vid)| {
        let port = format!("vale:{name}:{port},mtu=2184");
        let mac = format!("02:00:00:00:00:{}", &vid[..2]);
        Process::linerate(&["fcoe", "target", "-i", &port, "--mac", &mac, "--vlan", vid, "--lun", "0=ram:8M"], "LUN 0")
    });
    let port = format!("vale:{name}:c,mtu=2184");
    let found = fcoe(&["ls", "-i", &port, "--vlan", "auto"]);
    let line = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(found.status.code() == Some(2) && line.lines().count() == 1, "{}", said(&found));
    for words in ["100 by 02:00:00:00:00:10", "200 by 02:00:00:00:00:20", "give one"] {
        assert!(line.contains(words), "{words}: {line}");
    }
    drop(targets);
}

#[test]
fn a_disk_over_veth() {
    let made = linerate_skip::permitted(Namespace::new(), |e| e.cause == Cause::Capability);
    let Some(ns) = made else { return };
    let _pair = ns.run_in(|| VethPair::new(["va", "vb"], 1, 2500)).unwrap().unwrap();
    for kind in ["packet", "xdp"] {
        let (theirs, ours) = (format!("{kind}:va"), format!("{kind}:vb"));
        let lun = ["fcoe", "target", "-i", &theirs, "--mac", "02:00:00:00:00:0a", "--lun", "3=ram:16M"];
        let target = ns.run_in(|| Process::linerate(&lun, "ready")).unwrap();
        let groups = ns.run_in(|| run("ip", &["maddr", "show", "dev", "va"])).unwrap();
        assert!(said(&groups).contains("01:10:18:01:00:04"), "{}", said(&groups));
        let listed = said(&ns.run_in(|| fcoe(&["ls", "-i", &ours])).unwrap());
        assert!(listed.contains("LUN 3     LINERATE ram"), "{kind}: {listed}");
        target.stop();
    }
}

#[test]
fn what_is_wrong_is_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let config = path(dir.path(), "bad.toml");
    std::fs::write(&config, "port = \"null:\"\n[[lun]]\nlun = 0\ndevice = \"rom:1M\"\n").unwrap();
    let there = path(dir.path(), "good.toml");
    std::fs::write(&there, "port = \"null:\"\n[[lun]]\nlun = 1\ndevice = \"ram:1M\"\n[[allow]]\nwwpn = \"20:00:00:00:00:00:00:01\"\nluns = [1]\n")
        .unwrap();
    let checked = fcoe(&["target", "--config", &there, "--check"]);
    assert!(checked.status.success() && said(&checked).contains("LUN 1: ram:1M, 1048576 bytes"), "{}", said(&checked));
    for (wrong, why) in [
        (&["target"][..], "needs a"),
        (&["target", "-i", "null:"], "LUN"),
        (&["target", "-i", "null:", "--lun", "ram:1M"], "0=ram:64M"),
        (&["target", "-i", "null:", "--lun", "0=rom:1M"], "rom"),
        (&["target", "-i", "null:", "--lun", "20000=ram:1M"], "20000"),
        (&["target", "-i", "null:", "--lun", "0=ram:1M", "--lun", "0=ram:1M"], "0"),
        (&["target", "-i", "null:", "--lun", "0=ram:1M", "--allow", "20:00=0"], "20:00"),
        (&["target", "-i", "null:", "--lun", "0=ram:1M", "--allow", "20:00:00:00:00:00:00:01=4"], "LUN 4"),
        (&["target", "-i", "null:", "--lun", "0=ram:900T"], "there is not so much memory"),
        (&["target", "-i", "null:", "--lun", "0=ram:90T,pi=1", "--lun", "1=ram:900T,pi=1", "--check"], "memory"),
        (&["initiator", "-i", "null:", "--nbd", "tcp:0.0.0.0:0"], "no authentication; give"),
        (&["target", "-i", "null:", "--lun", "0=ram:1M", "--mac", "03:00:00:00:00:01"], "group"),
        (&["target", "-i", "null:", "--lun", "0=ram:1M", "--mtu", "100"], "100"),
        (&["target", "-i", "null:", "--lun", "0=ram:1M", "--vlan", "4095"], "4094"),
        (&["target", "--config", &config], "rom"),
        (&["target", "--config", "/dev/null/none.toml", "--check"], "/dev/null/none.toml"),
        (&["discover"], "port"),
        (&["ls", "-i", "nosuch:1"], "nosuch"),
        (&["initiator", "-i", "null:", "--nbd", "carrier:pigeon"], "carrier"),
        (&["ls", "-i", "null:", "--target", "12"], "world-wide name"),
        (&["read", "-i", "null:", "--offset", "64MiB"], "as 4096 or 64M"),
        (&["read", "-i", "null:", "--offset", "-1"], "-1"),
        (&["write", "-i", "null:", "--bytes", "1.5G"], "as 4096 or 64M"),
        (&["write", "-i", "null:", "--bytes", "99999999999T"], "as 4096 or 64M"),
    ] {
        let output = fcoe(wrong);
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", said(&output));
        assert!(line.contains(why) && line.lines().count() == 1, "{wrong:?}: {line}");
    }
}

/// Regression: all that was told of an MTU that somebody lowered was that the target sends no beacons any more.
#[test]
fn an_mtu_that_is_lowered_under_an_initiator_is_named() {
    let Some(ns) = linerate_skip::permitted(Namespace::new(), |e| e.cause == Cause::Capability) else { return };
    let _pair = ns.run_in(|| VethPair::new(["va", "vb"], 1, 2500)).unwrap().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let start = |words: &[&str]| {
        let mut command = Command::new(BINARY);
        command.arg("fcoe").args(words);
        ns.run_in(|| Process::start(command)).unwrap()
    };
    let mtu = |bytes: &str| {
        let set = ns.run_in(|| run("ip", &["link", "set", "vb", "mtu", bytes])).unwrap();
        assert!(set.status.success(), "{}", said(&set));
    };
    let target = start(&["target", "-i", "packet:va", "--lun", "0=ram:1M"]);
    let nbd = format!("unix:{}", path(dir.path(), "lun"));
    let mut initiator = start(&["initiator", "-i", "packet:vb", "--nbd", &nbd]);
    initiator.until(" logged in");
    // One that still does is nothing to be told of.
    mtu("2158");
    mtu("1500");
    let line = initiator.until("MTU was");
    assert!(
        line.contains("packet:vb: the MTU was 2") && line.contains(" and is 1500, FCoE's frames here need 2158"),
        "{line}"
    );
    mtu("2500");
    let line = initiator.until("MTU was");
    assert!(line.contains("the MTU was 1500 and is 2500") && line.contains("all frames pass again"), "{line}");
    initiator.stop();
    target.stop();
}
