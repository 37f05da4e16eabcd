//! Tests of `linerate xdd` inside a virtual machine (tests/rig), on SCSI disks of the Linux kernel: LUNs of our target
//! outside, found by the kernel's FCoE initiator. Through /dev/sg and through their block devices.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, counter, until};
use crate::rig;
use std::path::Path;
use std::process::Command;

/// Shell functions of the machine: names of a LUN, and a run of xdd between two lines.
const HEAD: &str = r#"ln -s linerate /rig/xdd
    sg() { echo /dev/$(basename /sys/bus/scsi/devices/*:*:*:$1/scsi_generic/*); }
    sd() { echo /dev/$(basename /sys/bus/scsi/devices/*:*:*:$1/block/*); }
    x() { name=$1; shift; echo "BEGIN $name"; xdd "$@" 2>&1; echo "CODE $? $name"; }
    b="-blocksize 512"; seq="-datapattern sequenced" inv="-datapattern inverse"
"#;

/// Output of one run of xdd, and its exit code.
fn part<'a>(said: &'a str, name: &str) -> (i32, &'a str) {
    let (_, rest) = said.split_once(&format!("BEGIN {name}\n")).unwrap_or_else(|| panic!("no {name} in:\n{said}"));
    let (text, rest) = rest.split_once("CODE ").unwrap_or_else(|| panic!("no end of {name} in:\n{said}"));
    let code = rest.split_whitespace().next().and_then(|code| code.parse().ok());
    (code.unwrap_or_else(|| panic!("{rest}")), text)
}

/// Bytes and operations of the row of all targets.
fn combined(text: &str) -> (u64, u64) {
    let row = text.lines().find(|line| line.starts_with(" COMBINED")).unwrap_or_else(|| panic!("no row in:\n{text}"));
    let words: Vec<&str> = row.split_whitespace().collect();
    (words[4].parse().unwrap(), words[5].parse().unwrap())
}

/// Makes a file of so many MiB of zeros; returns the target's device.
fn file(dir: &Path, name: &str, mib: u64) -> String {
    let path = dir.join(name);
    std::fs::File::create(&path).unwrap().set_len(mib << 20).unwrap();
    format!("file:{}", path.to_str().unwrap())
}

/// Writes an MBR with one partition from block 2048 on.
fn partitioned(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[450] = 0x83;
    bytes[454..458].copy_from_slice(&2048u32.to_le_bytes());
    bytes[458..462].copy_from_slice(&4096u32.to_le_bytes());
    bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn scsi_disks_are_read_and_written_by_sg_and_by_their_block_devices() {
    if !rig::is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let luns = [
        format!("0={}", file(dir, "disk", 16)),
        "1=ram:8M".to_owned(),
        format!("2={}", file(dir, "parted", 8)),
        format!("3={},ro", file(dir, "kept", 8)),
        "4=ram:8M,block=4096".to_owned(),
        "5=null:3T".to_owned(),
    ];
    partitioned(&dir.join("parted"));
    let target: Vec<&str> = luns.iter().flat_map(|lun| ["--lun", lun]).collect();
    let command = HEAD.to_owned()
        + r#"i=0; until [ -b $(sd 5) ] || [ $i = 600 ]; do usleep 100000; i=$((i+1)); done
        x write -sgio -op write -targets 2 $(sg 0) $(sg 1) $b -reqsize 8 -mbytes 2 -queuedepth 16 $seq
        x read -sgio -op read -targets 2 $(sg 0) $(sg 1) $b -reqsize 8 -mbytes 2 -queuedepth 16 $seq -verify contents
        x wrong -sgio -op read -targets 1 $(sg 0) $b -reqsize 8 -numreqs 2 -datapattern random -verify contents
        x direct -op write -dio -targets 1 $(sd 0) $b -reqsize 64 -mbytes 1 -queuedepth 8 -startoffset 8192 $seq $inv
        x direct-read -op read -dio -targets 1 $(sd 1) $b -reqsize 8 -mbytes 2 -queuedepth 16 $seq -verify contents
        x back -sgio -op read -targets 1 $(sd 0) $b -reqsize 64 -mbytes 1 -queuedepth 8 -startoffset 8192 $seq $inv \
          -verify contents
        x published -sgio -op read -targets 4 -rwratio 100 $(sg 0) $(sg 1) $(sg 2) $(sg 3) -queuedepth 16 -reqsize 1 \
          -blocksize 512 -numreqs 100 -runtime 1 -datapattern sequenced -maxall
        x deep -sgio -op read -targets 1 $(sg 1) $b -reqsize 8 -mbytes 2 -queuedepth 64 $seq -verify contents
        x twice -sgio -op write -targets 2 $(sg 1) $(sd 1) $b -reqsize 8 -mbytes 2 -queuedepth 4 $seq
        x sectors -sgio -op write -targets 1 $(sg 4) -blocksize 4096 -reqsize 2 -mbytes 1 -queuedepth 8 $seq \
          -syncwrite -flushwrite 16
        x theirs -op read -dio -targets 1 $(sd 4) -blocksize 4096 -reqsize 2 -mbytes 1 -queuedepth 8 $seq \
          -verify contents
        x half -sgio -op read -targets 1 $(sg 4) $b -reqsize 1 -numreqs 1
        x far -sgio -op read -targets 1 $(sg 5) $b -reqsize 8 -numreqs 8 -startoffset 4294967296 -verify contents
        x large -sgio -op read -targets 1 $(sg 0) $b -reqsize 4096 -numreqs 1 $seq -verify contents
        x huge -sgio -op read -targets 1 $(sg 0) $b -reqsize 16384 -numreqs 1
        x kept -sgio -op write -targets 1 $(sg 3) $b -reqsize 1 -numreqs 3 -startoffset 7
        x part -sgio -op read -targets 1 $(sd 2)1 $b -reqsize 1 -numreqs 1
        x end -sgio -op read -targets 1 $(sg 1) $b -reqsize 1 -numreqs 1 -startoffset 16384
        x none -sgio -op read -targets 1 /dev/sg77 $b -reqsize 1 -numreqs 1
        xdd -op write -dio -targets 1 $(sd 1) $b -reqsize 1 -numreqs 1 -startdelay 1000 > /tmp/user & user=$!
        i=0; until grep -q opened /tmp/user || [ $i = 600 ]; do usleep 100000; i=$((i+1)); done
        x busy -sgio -op write -targets 1 $(sg 1) $b -reqsize 1 -numreqs 1
        kill $user; wait; echo ALL-DONE"#;
    let (said, counters) = rig::over_unix(dir, &target, "2500", &["--bring", BINARY], &command);
    assert!(said.contains("ALL-DONE"), "{said}");

    let (mib, mut moved) = (1 << 20, 0);
    for (name, bytes, requests) in [
        ("write", 4 * mib, 1024),
        ("read", 4 * mib, 1024),
        ("direct", mib, 32),
        ("back", mib, 32),
        ("deep", 2 * mib, 512),
        ("direct-read", 2 * mib, 512),
        ("twice", 4 * mib, 1024),
        ("sectors", mib, 128),
        ("theirs", mib, 128),
        // Beyond the range of READ (10).
        ("far", 8 * 4096, 8),
        ("large", 2 * mib, 1),
    ] {
        let (code, text) = part(&said, name);
        assert_eq!((code, combined(text)), (0, (bytes, requests)), "{text}");
        moved += if matches!(name, "write" | "direct" | "twice" | "sectors") { bytes } else { 0 };
    }
    let (code, text) = part(&said, "published");
    let (bytes, requests) = combined(text);
    assert!(code == 0 && requests > 0 && bytes == requests * 512, "{text}");
    for way in ["read", "published"].map(|name| part(&said, name).1) {
        assert!(way.contains("opened by SG_IO") && !way.contains("priority stays"), "{way}");
    }
    // Failures: the exit code and the line.
    for (name, code, line) in [
        ("wrong", 1, "content mismatch: read of 4096 bytes at 0, byte 0 (block 0)"),
        (
            "huge",
            1,
            "read of 8388608 bytes at 0 (LBA 0): SG_IO: Cannot allocate memory (os error 12); a smaller -reqsize",
        ),
        ("kept", 1, "write of 512 bytes at 3584 (LBA 7): DATA PROTECT, WRITE PROTECTED (07/27/00)"),
        ("part", 2, "a partition: SCSI commands count from the start of its disk; give the disk: /dev/sd"),
        ("half", 2, "a request of 512 bytes is no number of its 4096-byte blocks; change -reqsize"),
        (
            "end",
            2,
            "no room for a request of 512 bytes: it has 8388608, 0 of them to be used; change -reqsize, -startoffset",
        ),
        ("none", 2, "No such file or directory (os error 2); lsscsi -g names what there is"),
        ("busy", 2, " is in use; unmount it, or end the program that has it"),
    ] {
        let (ended, text) = part(&said, name);
        let told: Vec<&str> = text.lines().filter(|line_| line_.contains("target 0 (/dev/s")).collect();
        assert!(ended == code && told.first().is_some_and(|told| told.contains(line)), "{name}: {text}");
    }
    assert!(part(&said, "kept").1.contains("Errors, 3 failed, 0 miscompared, 0 did not end"), "{said}");

    // The disks hold the data written, and the target agrees.
    let data = std::fs::read(dir.join("disk")).unwrap();
    for (at, word) in (0u64..).step_by(8).zip(data.chunks_exact(8)) {
        let expected = match at >> 20 {
            0 | 1 => at,
            4 => !at,
            _ => 0,
        };
        assert_eq!(word, expected.to_le_bytes(), "{at}");
    }
    assert!(std::fs::read(dir.join("kept")).unwrap().iter().all(|byte| *byte == 0));
    assert_eq!(counter(&counters, "bytes_received"), moved, "{counters}");
    assert_eq!((counter(&counters, "exchanges_aborted"), counter(&counters, "frames_bad_crc")), (0, 0), "{counters}");
}

/// The target comes back with a smaller disk while it is read, then goes for good: I/O between is waited for; I/O
/// beyond the end, and I/O that is not answered any more, is reported in the device's and the kernel's words.
#[test]
fn a_disk_that_shrinks_and_one_that_goes_are_told() {
    if !rig::is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let lun = format!("0={}", file(dir.path(), "disk", 16));
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let port = format!("unix:{}:{},mtu=2500", path("us"), path("vm"));
    let start = || {
        let mut ours = rig::ours(&["fcoe", "target", "-i", &port, "--mac", "02:00:00:fc:00:02", "--lun", &lun]);
        ours.until("LUN 0");
        ours
    };
    let command = HEAD.to_owned()
        + r#"again="-seek none -reqsize 8 -queuedepth 4 -numreqs 1000000 -throttle ops 0.1 -runtime 200 -stoponerror"
        x small -sgio -op read -targets 1 $(sg 0) $b $again -startoffset 16384
        x left -sgio -op read -targets 1 $(sg 0) $b -reqsize 8 -queuedepth 4 -mbytes 4
        x behind -sgio -op read -targets 1 $(sg 0) $b -reqsize 8 -numreqs 1 -startoffset 8192
        for rport in /sys/class/fc_remote_ports/rport-*; do echo 20 > $rport/dev_loss_tmo; done
        x gone -sgio -op read -targets 1 $(sg 0) $b $again
        echo ALL-DONE"#;
    let ours = start();
    let link = format!("{}:{}", path("vm"), path("us"));
    let mut machine = rig::initiator(&link, &["--bring", BINARY, "--cmd", &command]);
    let commands = || {
        let show = ["fcoe", "show", &format!("unix:{}:{}", path("us"), path("vm")), "--json"];
        let shown = Command::new(BINARY).args(show).output().unwrap();
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        shown["counters"]["commands"].as_u64().unwrap()
    };
    // One read in ten seconds: the target stops between two, and is back before the next, or that waits for it until Linux gives
    // it up. Linux fails one that it sends into the stop (DID_ERROR), and one that waits is the first to hear of a start.
    let mut until_read = |name: &str| {
        machine.until(&format!("BEGIN {name}"));
        machine.until("opened by SG_IO");
        let before = commands();
        until("a block is read", || commands() > before);
    };
    until_read("small");
    ours.stop();
    std::fs::File::options().write(true).open(path("disk")).unwrap().set_len(4 << 20).unwrap();
    let ours = start();
    until_read("gone");
    ours.stop();
    let said = machine.done();
    assert!(said.contains("ALL-DONE"), "{said}");

    for (name, lines) in [
        ("small", &["at 8388608 (LBA 16384): ILLEGAL REQUEST, LOGICAL BLOCK ADDRESS OUT OF RANGE (05/21/00)"][..]),
        // The second if Linux sends one into the stop, on a busy machine.
        (
            "gone",
            &[
                "at 0 (LBA 0): DID_NO_CONNECT: the device is not reached, or gave no answer",
                "at 0 (LBA 0): DID_ERROR: ",
            ],
        ),
    ] {
        let (code, text) = part(&said, name);
        let told = lines.iter().any(|line| text.contains(line));
        assert!(code == 1 && told && text.contains(", 0 did not end"), "{text}");
    }
    let (code, text) = part(&said, "left");
    assert_eq!((code, combined(text)), (0, (4 << 20, 1024)), "{text}");
    let (code, text) = part(&said, "behind");
    assert!(code == 2 && text.contains("it has 4194304, 0 of them to be used"), "{text}");
}
