//! Tests of `linerate fcoe` with outages: a back end or a target that is killed and comes back costs time and no I/O.
#![cfg(target_os = "linux")]

use crate::process::{Process, until};
use crate::rig;
use std::process::Command;
use std::time::Duration;

/// A directory with a disk of zeros.
fn place(mib: u64) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().join("disk");
    std::fs::File::create(&disk).unwrap().set_len(mib << 20).unwrap();
    (dir, disk.to_str().unwrap().to_owned())
}

/// Runs another program to its end.
fn run(program: &str, arguments: &[&str]) {
    let output = Command::new("timeout").args(["100", program]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A write by a client of our initiator waits while there is no target: all of it is there in the end.
#[test]
fn what_is_written_while_the_target_is_away_is_written_when_it_is_back() {
    let (dir, disk) = place(16);
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let name = format!("out{}", std::process::id());
    let ours = |arguments: &[&str], words: &str| Process::linerate(&[&["fcoe"], arguments].concat(), words);
    let (end, lun) = (format!("cable:{name}{{1"), format!("0=file:{disk}"));
    let start = || ours(&["target", "-i", &end, "--lun", &lun, "--wait", "sleep"], "LUN 0");
    let target = start();
    let nbd = path("nbd");
    let (far, address) = (format!("cable:{name}}}1"), format!("unix:{nbd}"));
    let mut initiator = ours(&["initiator", "-i", &far, "--nbd", &address, "--wait", "sleep"], "export");
    target.kill();
    initiator.until("session is over");
    assert_eq!(initiator.line_with("no address").trim_end(), "no address: the link is down");
    let written: Vec<u8> = (0..4_u32 << 18).flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    std::fs::write(path("image"), &written).unwrap();
    let uri = format!("nbd+unix:///?socket={nbd}");
    let mut copy = Command::new("timeout");
    copy.args(["100", "qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", &path("image"), &uri]);
    let mut copy = Process::start(copy);
    assert!(!copy.ends_within(Duration::from_secs(1)), "nobody can have done it");
    let target = start();
    let copied = copy.end();
    assert_eq!(copied.code, Some(0), "{}", copied.said());
    assert!(std::fs::read(&disk).unwrap()[..written.len()] == written);
    run("qemu-img", &["compare", "-f", "raw", "-F", "raw", &path("image"), &uri]);
    initiator.stop();
    target.stop();
}

/// Another disk in the place of one that was away gets nothing of what was meant for that.
#[test]
fn another_disk_in_its_place_gets_nothing() {
    let (dir, disk) = place(16);
    let (other, second) = place(16);
    let name = format!("oth{}", std::process::id());
    let ours = |arguments: &[&str], words: &str| Process::linerate(&[&["fcoe"], arguments].concat(), words);
    let end = format!("cable:{name}{{1");
    let start =
        |disk: &str| ours(&["target", "-i", &end, "--lun", &format!("0=file:{disk}"), "--wait", "sleep"], "LUN 0");
    let target = start(&disk);
    let nbd = dir.path().join("nbd").to_str().unwrap().to_owned();
    let (far, address) = (format!("cable:{name}}}1"), format!("unix:{nbd}"));
    let mut initiator = ours(&["initiator", "-i", &far, "--nbd", &address, "--hold", "5", "--wait", "sleep"], "export");
    target.kill();
    initiator.until("session is over");
    let mut write = Command::new("timeout");
    write.args(["100", "qemu-io", "-f", "raw", "-c", "write -P 7 0 64k", &format!("nbd+unix:///?socket={nbd}")]);
    let write = Process::start(write);
    initiator.until("the default export is");
    let target = start(&second);
    initiator.until("another disk");
    let written = write.end();
    assert!(written.said().contains("write failed"), "{}", written.said());
    assert!(std::fs::read(&second).unwrap().iter().all(|byte| *byte == 0));
    initiator.stop();
    target.stop();
    drop(other);
}

/// Regression: a command to a LUN whose server was back read-only was tried again and again, and nobody was told why.
#[test]
fn a_server_that_is_back_read_only_fails_commands_when_they_have_been_held() {
    let (dir, disk) = place(16);
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (socket, nbd) = (path("server"), path("nbd"));
    let serve = |more: &[&str]| {
        let _ = std::fs::remove_file(&socket);
        let mut nbdkit = Command::new("nbdkit");
        nbdkit.args(["-f", "--exit-with-parent", "-U", &socket]).args(more).args(["file", &disk]);
        let server = Process::start(nbdkit);
        until("nbdkit listens", || std::path::Path::new(&socket).exists());
        server
    };
    let server = serve(&[]);
    let name = format!("seal{}", std::process::id());
    let (end, lun) = (format!("cable:{name}{{1"), format!("0=nbd+unix:///?socket={socket}"));
    let node = ["fcoe", "target", "-i", &end, "--lun", &lun, "--hold", "2", "--wait", "sleep"];
    let mut target = Process::linerate(&node, "LUN 0");
    let (far, address) = (format!("cable:{name}}}1"), format!("unix:{nbd}"));
    let node = ["fcoe", "initiator", "-i", &far, "--nbd", &address, "--wait", "sleep"];
    let mut initiator = Process::linerate(&node, "export");
    server.kill();
    let server = serve(&["-r"]);
    target.until("LUN 0: the server is back with another export: it is read-only, and was not; it is not used");
    let mut write = Command::new("timeout");
    write.args(["100", "qemu-io", "-f", "raw", "-c", "write -P 7 0 64k", &format!("nbd+unix:///?socket={nbd}")]);
    let written = Process::start(write).end();
    assert!(written.said().contains("write failed"), "{}", written.said());
    initiator.until("NOT READY, MANUAL INTERVENTION REQUIRED");
    server.kill();
    let server = serve(&[]);
    let line = target.until("LUN 0: the server is back after");
    assert!(line.contains("that it serves the same disk is not known"), "{line}");
    run("qemu-io", &["-f", "raw", "-c", "write -P 7 0 64k", &format!("nbd+unix:///?socket={nbd}")]);
    initiator.stop();
    target.stop();
    server.kill();
}

/// Commands of the guest with the kernel's initiator: 12 files one after the other, each on the disk before the next; then
/// the file system is checked, mounted again, and each file is compared with its sum.
const FILES: &str = "set -e; modprobe ext4; /usr/bin/mke2fs -q -t ext4 $DISK; mount -t ext4 $DISK /mnt; \
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do dd if=/dev/urandom of=/mnt/$i bs=128k count=4 2>/dev/null; sync; \
    sha256sum /mnt/$i >> /tmp/sums; echo FILE-$i; usleep 300000; done; echo then > /mnt/then; sync; \
    grep /mnt /proc/mounts; umount /mnt; /usr/bin/e2fsck -fn $DISK; echo 3 > /proc/sys/vm/drop_caches; \
    mount -t ext4 $DISK /mnt; sha256sum -c /tmp/sums; umount /mnt; echo ALL-DONE";

fn all_is_well(said: &str) {
    assert!(said.contains("ALL-DONE") && said.matches(": OK").count() == 12, "{said}");
    for bad in ["I/O error", "Remounting filesystem read-only", "EXT4-fs error"] {
        assert!(!said.contains(bad), "{said}");
    }
}

/// nbdkit is killed under ext4 and is back after 10 s.
#[test]
#[ignore = "it takes minutes: ./soak outages"]
fn a_killed_back_end_leaves_the_kernels_file_system_writable() {
    if !rig::is_there() {
        return;
    }
    let (dir, disk) = place(64);
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let socket = path("nbd");
    let serve = || {
        let _ = std::fs::remove_file(&socket);
        let mut nbdkit = Command::new("nbdkit");
        let server = {
            nbdkit.args(["-f", "--exit-with-parent", "-U", &socket, "file", &disk]);
            Process::start(nbdkit)
        };
        while !std::path::Path::new(&socket).exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    };
    let server = serve();
    let port = format!("unix:{}:{},mtu=2500", path("us"), path("vm"));
    let lun = format!("0=nbd+unix:///?socket={socket}");
    let node = ["fcoe", "target", "-i", &port, "--mac", "02:00:00:fc:00:02", "--lun", &lun];
    let mut target = Process::linerate(&node, "LUN 0");
    let mut machine = rig::initiator(&format!("{}:{}", path("vm"), path("us")), &["--cmd", FILES]);
    machine.until("FILE-3");
    server.kill();
    target.until("LUN 0: the server is lost; commands wait for it for up to 20 s");
    std::thread::sleep(Duration::from_secs(10));
    let server = serve();
    target.until("LUN 0: the server is back after 1");
    all_is_well(&machine.done());
    target.stop();
    server.kill();
}

/// The target itself is killed under ext4 and is back after 20 s.
#[test]
#[ignore = "it takes minutes: ./soak outages"]
fn a_killed_target_leaves_the_kernels_file_system_writable() {
    if !rig::is_there() {
        return;
    }
    let (dir, disk) = place(64);
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let port = format!("unix:{}:{},mtu=2500", path("us"), path("vm"));
    let lun = format!("0=file:{disk}");
    // Not by `timeout`, which would be killed in its place.
    let start =
        || Process::linerate(&["fcoe", "target", "-i", &port, "--mac", "02:00:00:fc:00:02", "--lun", &lun], "LUN 0");
    let target = start();
    let mut machine = rig::initiator(&format!("{}:{}", path("vm"), path("us")), &["--cmd", FILES]);
    machine.until("FILE-3");
    target.kill();
    std::thread::sleep(Duration::from_secs(20));
    let target = start();
    all_is_well(&machine.done());
    target.stop();
}

/// Of all FC frames, 0.3 % are lost, 1 % come twice, and 1 % are overtaken by others.
///
/// The frames of data in do not come twice: Linux's initiator adds their bytes up, fails the READ then with any target, and
/// takes one for whole of which another frame is lost besides.
#[test]
#[ignore = "it takes minutes: ./soak outages"]
fn faults_of_the_network_leave_the_kernels_file_system_writable() {
    if !rig::is_there() {
        return;
    }
    let (dir, disk) = place(64);
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let link = |here: &str, there: &str| format!("{}:{}", path(here), path(there));
    let (ours, theirs, go) = (link("a", "us"), link("b", "vm"), path("go"));
    let faults = ["--loss", "0.003", "--duplicate", "0.01", "--reorder", "0.01", "--single", "a2b:0x01"];
    let arguments = [&[&ours, &theirs, "--start", &go], &faults[..]].concat();
    let mut relay = rig::start(&rig::file("relay.py"), &arguments);
    relay.until("RELAY-READY");
    let (port, lun) = (format!("unix:{},mtu=2500", link("us", "a")), format!("0=file:{disk}"));
    let node = ["fcoe", "target", "-i", &port, "--mac", "02:00:00:fc:00:02", "--lun", &lun];
    let target = Process::linerate(&node, "LUN 0");
    let mut machine = rig::initiator(&link("vm", "b"), &["--cmd", FILES]);
    machine.until("FILE-1");
    std::fs::write(&go, "").unwrap();
    // What is read ahead is not tried again by Linux, but read when it is wanted (REQ_RAHEAD, 0x80000).
    let said = machine.done();
    let ahead = |line: &&str| line.contains("I/O error") && line.contains("op 0x0:(READ) flags 0x80700");
    all_is_well(&said.lines().filter(|line| !ahead(line)).collect::<Vec<_>>().join("\n"));
    relay.signal("TERM");
    let relayed = relay.end().said();
    let chance = relayed.lines().find(|line| line.starts_with("CHANCE")).unwrap();
    let counts: Vec<u32> = chance.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [frames, lost, 0, doubled, reordered] = counts[..] else { panic!("{chance}") };
    assert!(frames > 4000 && lost > 5 && doubled > 5 && reordered > 20, "{chance}");
    println!("{chance}\n{}", target.stop());
}

/// Of what the kernel sends, each third frame comes twice, some of the second ones late, and what it reads is what it wrote:
/// an FCP_CMND that comes when its OX_ID belongs to another command is not done.
///
/// What goes to the kernel does not come twice: its initiator tells a late FCP_XFER_RDY or FCP_RSP from one of the next
/// exchange of the OX_ID as little as data in, whoever the target is (see relay.py).
#[test]
#[ignore = "it takes minutes: ./soak outages"]
fn commands_that_come_twice_give_the_kernel_no_wrong_data() {
    if !rig::is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let link = |here: &str, there: &str| format!("{}:{}", path(here), path(there));
    let (ours, theirs, go) = (link("a", "us"), link("b", "vm"), path("go"));
    let faults = ["--duplicate", "0.3", "--reorder", "0.1", "--single", "a2b", "--start", &go];
    let mut relay = rig::start(&rig::file("relay.py"), &[&[ours.as_str(), &theirs], &faults[..]].concat());
    relay.until("RELAY-READY");
    let port = format!("unix:{},mtu=2500", link("us", "a"));
    let target = Process::linerate(&["fcoe", "target", "-i", &port, "--lun", "0=ram:16M"], "LUN 0");
    let lossy = rig::file("lossy");
    let command = "echo GO; sleep 1; lossy 400 4 4";
    let mut machine = rig::initiator(&link("vm", "b"), &["--put", &lossy, "--cmd", command]);
    machine.until("GO");
    std::fs::write(&go, "").unwrap();
    let said = machine.done();
    println!("{}", said.lines().find(|line| line.starts_with("LOSSY")).unwrap());
    assert!(said.contains("LOSSY pieces=400 write_errors=0 read_errors=0 wrong=0 "), "{said}");
    let status = target.stop();
    let doubled = crate::process::counter(&status, "commands_doubled");
    assert!(doubled > 0, "{status}");
    println!("commands_doubled {doubled}");
}
