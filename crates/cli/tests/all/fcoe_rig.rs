//! Tests of `linerate fcoe` and the Linux kernel's FCoE with failures: our initiator with a kernel target that dies,
//! the kernel's initiator with our target that ends and comes back, frames that are lost or damaged.
#![cfg(target_os = "linux")]

use crate::process::counter;
use crate::rig;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lock that runs one test after the other: each has a machine, which is emulated on a core.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory for the sockets of a link between our port and a machine.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    /// A UNIX datagram link: its local end and its remote end.
    fn link(&self, here: &str, there: &str) -> String {
        format!("{}:{}", self.path(here), self.path(there))
    }

    /// The link as a port.
    fn port(&self, here: &str, there: &str) -> String {
        format!("unix:{},mtu=2500", self.link(here, there))
    }
}

/// Runs another program and returns its output.
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new("timeout").args(["100", program]).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    said
}

/// Writes random bytes to a file and returns them.
fn random(path: &str, len: usize) -> Vec<u8> {
    use std::io::Read;
    let mut bytes = vec![0; len];
    std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    std::fs::write(path, &bytes).unwrap();
    bytes
}

/// Our initiator on tcm_fc: discovery, writes and reads, by itself and by other programs over NBD; when the machine
/// dies under load, every I/O ends.
///
/// Each command logs in again, which a kernel does not expect: after LOGO it sends FLOGI at once, to a process that has
/// ended, and begins no other login for 8 s unless it is woken.
#[test]
fn our_initiator_on_the_kernels_target_until_that_dies() {
    if !rig::is_there() {
        return;
    }
    let _alone = alone();
    let place = Place::new();
    let acl = ["--acl", "20:00:02:00:00:00:00:01", "--luns", "rd:64 file:32"];
    // A relay between the two, so that the machine's death is silence and not a link that is down.
    let mut relay = rig::start(&rig::file("relay.py"), &[&place.link("a", "us"), &place.link("b", "vm")]);
    relay.until("RELAY-READY");
    let mut machine = rig::machine("target", &place.link("vm", "b"), &acl);
    machine.until("TARGET-READY");
    let port = place.port("us", "a");
    let node = ["-i", &port, "--mac", "02:00:00:00:00:01"];
    let ours = |what: &[&str]| rig::ours(&[&["fcoe", what[0]], &node[..], &what[1..]].concat()).done();

    let said = ours(&["ls"]);
    assert!(said.contains("LUN 0     LIO-ORG  RAMDISK-MCP      67108864 bytes"), "{said}");
    assert!(said.contains("LUN 1     LIO-ORG  FILEIO           33554432 bytes"), "{said}");
    let said = ours(&["inq", "--lun", "1"]);
    assert!(said.contains("RIGLUN0001") && said.contains("20:00:52:54:00:fc:0e:02"), "{said}");
    let (file, back) = (place.path("file"), place.path("back"));
    let written = random(&file, 12 << 20);
    ours(&["write", "--lun", "1", "--offset", "1048576", &file]);
    ours(&["read", "--lun", "1", "--offset", "1048576", "--bytes", "12582912", &back]);
    assert!(std::fs::read(&back).unwrap() == written, "what was read is not what was written");

    let nbd = place.path("nbd");
    let address = format!("unix:{nbd}");
    let mut initiator = rig::ours(&[&["fcoe", "initiator", "--nbd", &address], &node[..]].concat());
    initiator.until("02/1: LIO-ORG FILEIO");
    let first = format!("--uri=nbd+unix:///20%3A00%3A52%3A54%3A00%3Afc%3A0e%3A02/0?socket={nbd}");
    let fio = ["--name=n", "--ioengine=nbd", &first, "--rw=randwrite", "--bs=4k", "--iodepth=16"];
    run(
        "fio",
        &[&fio[..], &["--size=8M", "--verify=sha256", "--verify_fatal=1", "--do_verify=1", "--verify_state_save=0"]]
            .concat(),
    );
    let second = format!("nbd+unix:///20%3A00%3A52%3A54%3A00%3Afc%3A0e%3A02/1?socket={nbd}");
    let image = place.path("image");
    run("qemu-img", &["convert", "-f", "raw", "-O", "raw", &second, &image]);
    run("qemu-img", &["compare", "-f", "raw", "-F", "raw", &second, &image]);
    let image = std::fs::read(&image).unwrap();
    assert!(image.len() == 32 << 20 && image[1 << 20..13 << 20] == written, "it is not what was written");

    // 16 I/Os are in flight, and all of them end: fio waits for each.
    let fio = ["--name=n", "--ioengine=nbd", &first, "--rw=randrw", "--bs=4k", "--iodepth=16", "--size=64M"];
    let mut load = rig::start("fio", &[&fio[..], &["--time_based", "--runtime=200"]].concat());
    load.until("connected to NBD server");
    std::thread::sleep(Duration::from_secs(1));
    drop(machine);
    // Each I/O in flight ends by itself, and fio with the first that fails. Otherwise fio would go on for 200 s.
    let load = load.end();
    assert!(load.code != Some(0) && load.said().contains("err="), "{load:?}");
    let said = initiator.stop();
    assert!(said.contains("the session is over: it sends no beacons any more"), "{said}");
}

/// The kernel's initiator is told of our target's end and stops at once; when the target is back, with its disk in a
/// file, I/O continues without an error.
#[test]
fn our_target_ends_and_comes_back_under_load() {
    if !rig::is_there() {
        return;
    }
    let _alone = alone();
    let place = Place::new();
    let disk = place.path("disk");
    std::fs::File::create(&disk).unwrap().set_len(16 << 20).unwrap();
    let (port, lun) = (place.port("us", "vm"), format!("0=file:{disk}"));
    let start = || {
        let mut ours =
            rig::ours(&["fcoe", "target", "-i", &port, "--mac", "02:00:00:fc:00:02", "--lun", &lun, "--wait", "sleep"]);
        ours.until("LUN 0");
        ours
    };
    let ours = start();
    let command = r"state() { cat /sys/class/fc_remote_ports/rport-*/port_state; }
        until_state() { i=0; until [ $(state) = $1 ] || [ $i = 600 ]; do usleep 100000; i=$((i+1)); done; echo IT-IS $(state); }
        ( i=0; while [ ! -e /tmp/end ]; do
            dd if=/dev/urandom of=/tmp/p bs=4k count=1 2>/dev/null
            dd if=/tmp/p of=$DISK bs=4k count=1 seek=$i oflag=direct conv=notrunc 2>/dev/null || echo WRITE-ERROR $i
            dd if=$DISK of=/tmp/q bs=4k count=1 skip=$i iflag=direct 2>/dev/null || echo READ-ERROR $i
            cmp /tmp/p /tmp/q || echo WRONG $i; i=$((i+1))
        done; echo LOAD-DONE $i ) &
        sleep 1; echo UNDER-LOAD; until_state Blocked; until_state Online; sleep 1; touch /tmp/end; wait";
    let mut machine = rig::initiator(&place.link("vm", "us"), &["--cmd", command]);
    machine.until("UNDER-LOAD");
    let said = ours.stop();
    assert!(said.contains("the session is over: we end"), "{said}");
    machine.until("IT-IS Blocked");
    let ours = start();
    let said = machine.done();
    assert!(said.contains("IT-IS Online") && said.contains("LOAD-DONE"), "{said}");
    for bad in ["WRITE-ERROR", "READ-ERROR", "WRONG"] {
        assert!(!said.contains(bad), "{said}");
    }
    assert!(counter(&ours.stop(), "commands") > 0);
}

/// Frames lost between the kernel's initiator and our target, one kind after the other, are recovered after REC without
/// an I/O error (FCP-4, clause 12.4, annex C); then one FC frame in a hundred is lost or damaged.
///
/// Commands that nothing else sends mark the beginning of a case.
#[test]
fn lost_and_damaged_frames_cost_the_kernels_initiator_no_io() {
    if !rig::is_there() {
        return;
    }
    let _alone = alone();
    let place = Place::new();
    let (a, b, go, pcap) = (place.link("a", "us"), place.link("b", "vm"), place.path("go"), place.path("all.pcap"));
    let rules = [
        "b2a:cdb=0x2a,wait=0x03:0:1",  // FCP_CMND of a WRITE, after REQUEST SENSE
        "a2b:rctl=0x05,wait=0x2f:0:1", // FCP_XFER_RDY, after VERIFY
        "b2a:rctl=0x01,wait=0x35:1:1", // the second FCP_DATA of a WRITE, after SYNCHRONIZE CACHE
        "a2b:rctl=0x07,wait=0x5e:1:1", // FCP_RSP of a WRITE, after PERSISTENT RESERVE IN and its own
        "a2b:rctl=0x01,wait=0x91:3:1", // the fourth FCP_DATA of a READ, after SYNCHRONIZE CACHE (16)
    ];
    let chosen: Vec<&str> = rules.iter().flat_map(|rule| ["--drop", rule]).collect();
    let chance = ["--loss", "0.005", "--corrupt-rate", "0.005", "--seed", "1", "--start", &go, "--pcap", &pcap];
    let mut relay = rig::start(&rig::file("relay.py"), &[&[a.as_str(), &b], &chosen[..], &chance].concat());
    relay.until("RELAY-READY");
    let mut ours = rig::ours(&["fcoe", "target", "-i", &place.port("us", "a"), "--lun", "0=ram:16M"]);
    ours.until("LUN 0");
    let command = r"dd if=/dev/urandom of=/tmp/pat bs=32k count=5 2>/dev/null; n=0
        put() { dd if=/tmp/pat of=$DISK bs=32k count=1 skip=$n seek=$n oflag=direct conv=notrunc 2>/dev/null || echo IO-ERROR $1; n=$((n+1)); }
        take() { dd if=$DISK of=/tmp/back bs=32k count=$n iflag=direct 2>/dev/null || echo IO-ERROR $1; cmp /tmp/pat /tmp/back || echo WRONG $1; }
        put nothing; sg_requests $DISK >/dev/null; put command; sg_verify --count=1 $DISK; put transfer-ready
        sg_sync --count=1 $DISK; put data-out; sg_persist -i -k $DISK >/dev/null; put response; sg_sync --16 $DISK; take data-in
        echo CHOSEN-DONE $n; sleep 1; lossy 32 16 8";
    let lossy = rig::file("lossy");
    let mut machine = rig::initiator(&place.link("vm", "b"), &["--put", &lossy, "--cmd", command]);
    machine.until("CHOSEN-DONE 5");
    std::fs::write(&go, "").unwrap();
    let said = machine.done();
    assert!(!said.contains("IO-ERROR") && !said.contains("WRONG"), "{said}");
    assert!(said.contains("LOSSY pieces=32 write_errors=0 read_errors=0 wrong=0"), "{said}");
    relay.signal("TERM");
    let faults = relay.end().said();
    assert_eq!(faults.matches("FAULT drop").count(), rules.len(), "{faults}");
    assert!(!faults.contains(" 0 lost") && !faults.contains(" 0 damaged"), "{faults}");
    let said = ours.stop();
    assert!(counter(&said, "frames_bad_crc") > 0, "{said}");
    srr_was_used(Path::new(&pcap));
}

/// Checks that the capture has REC and SRR (FCP-4, clause 8.4) from the kernel: our REC answers made it request the
/// missing data.
fn srr_was_used(pcap: &Path) {
    let count = |filter: &str| run("tshark", &["-r", pcap.to_str().unwrap(), "-Y", filter]).matches("FC").count();
    assert!(count("fcels.opcode == 0x13") > 0 && count("fc.r_ctl == 0x32") > 0);
}
