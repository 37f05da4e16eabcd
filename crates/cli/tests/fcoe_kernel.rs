//! `linerate fcoe` against the Linux kernel's own FCoE, in virtual machines (tests/rig): its initiator uses our target. What
//! went over the wire is read by tshark.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_linerate");
/// How long a machine may take for all it does, seconds: emulated, on two cores that others use too.
const LIMIT: u64 = 280;

fn rig() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rig")
}

/// Whether the machines can run; says why not.
fn is_there() -> bool {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rig/out/stamp");
    let built = std::env::var_os("RIG").map_or(built, |dir| PathBuf::from(dir).join("out/stamp"));
    if !built.exists() {
        println!("skipped: the virtual machines are not built: run ./test tools");
        return false;
    }
    true
}

/// `linerate …` until it has said that it is ready.
struct Ours {
    child: Child,
    said: Option<BufReader<std::io::PipeReader>>,
}

impl Ours {
    fn start(arguments: &[&str], ready: &str) -> Self {
        let (said, says) = std::io::pipe().unwrap();
        let child = Command::new(BINARY)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(says.try_clone().unwrap())
            .stderr(says)
            .spawn()
            .unwrap();
        let mut said = BufReader::new(said);
        let (mut line, mut all) = (String::new(), String::new());
        while !line.contains(ready) {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "it ended: {all}");
            all += &line;
        }
        Self { child, said: Some(said) }
    }

    /// Ctrl-C; what it said from then on.
    fn stop(mut self) -> String {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success());
        let mut rest = String::new();
        self.said.take().unwrap().read_to_string(&mut rest).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "still running");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.child.wait().unwrap().code(), Some(130), "{rest}");
        rest
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a machine with the kernel's initiator.
fn machine(arguments: &[&str], command: &str) -> Child {
    let limit = LIMIT.to_string();
    Command::new("timeout")
        .arg((LIMIT + 20).to_string())
        .arg(rig().join("run-vm.sh"))
        .args(["--role", "initiator", "--quiet", "--timeout", &limit, "--lun-timeout", "120", "--cmd", command])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What it printed; it must have done all of its command.
fn finished(machine: Child) -> String {
    let output = machine.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// The capture has FCoE frames, and tshark finds none malformed and no CRC wrong.
fn is_clean(pcap: &Path) {
    let count = |filter: &str| {
        let output = Command::new("tshark").arg("-r").arg(pcap).args(["-Y", filter]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().count()
    };
    assert!(count("fcoe") > 50 && count("fip") > 5);
    assert_eq!(count("_ws.malformed || fcoe.crc.bad"), 0);
}

fn counter(said: &str, name: &str) -> u64 {
    let value = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in:\n{said}"))
}

/// A target on one end of a UNIX datagram link, whose other end a machine takes.
fn over_unix(dir: &Path, target: &[&str], mtu: &str, more: &[&str], command: &str) -> (String, String) {
    let (us, them) = (dir.join("us"), dir.join("them"));
    let (us, them) = (us.to_str().unwrap(), them.to_str().unwrap());
    let port = format!("unix:{us}:{them},mtu={mtu}");
    let ours = Ours::start(&[&["fcoe", "target", "-i", &port], target].concat(), "LUN 0");
    let link = format!("{them}:{us}");
    let said = finished(machine(&[&["--unix", &link, "--mtu", mtu], more].concat(), command));
    (said, ours.stop())
}

/// A file system on the LUN, filled, checked, mounted again; commands as sg3_utils sends them; every byte of 64 MiB.
#[test]
fn the_kernel_keeps_a_file_system_on_our_lun() {
    if !is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let pcap = dir.path().join("all.pcap");
    let command = "set -e; modprobe ext4; verify 64; sg_turs $DISK; sg_vpd -p bdc $DISK; sg_vpd -p lbpv $DISK; sg_luns $DISK; \
        sg_readcap --16 $DISK; /usr/bin/mke2fs -q -t ext4 $DISK; mount -t ext4 $DISK /mnt; \
        dd if=/dev/urandom of=/mnt/a bs=64k count=128 2>/dev/null; cp -r /bin /mnt/b; sync; sha256sum /mnt/a > /tmp/sum; \
        umount /mnt; /usr/bin/e2fsck -fn $DISK; echo 3 > /proc/sys/vm/drop_caches; mount -t ext4 $DISK /mnt; \
        sha256sum -c /tmp/sum; umount /mnt; echo ALL-DONE";
    let target = ["--lun", "0=ram:96M", "--mac", "02:00:00:fc:00:02"];
    let (said, counters) = over_unix(dir.path(), &target, "2500", &["--pcap", pcap.to_str().unwrap()], command);
    assert!(said.contains("VERIFY-OK 64 MiB") && said.contains("/mnt/a: OK") && said.contains("ALL-DONE"), "{said}");
    assert_eq!((counter(&counters, "frames_bad_crc"), counter(&counters, "frames_refused")), (0, 0));
    assert!(counter(&counters, "commands") > 1000, "{counters}");
    is_clean(&pcap);
}

/// Frames of 1452 octets of data, and all of them with a tag.
#[test]
fn a_small_mtu_and_a_vlan_are_no_obstacle() {
    if !is_there() {
        return;
    }
    for (mtu, ours, theirs) in [("1500", &[][..], &[][..]), ("2180", &["--vlan", "100"], &["--vlan", "100"])] {
        let dir = tempfile::tempdir().unwrap();
        let pcap = dir.path().join("all.pcap");
        let target = [&["--lun", "0=ram:16M"], ours].concat();
        let theirs = [theirs, &["--pcap", pcap.to_str().unwrap()]].concat();
        // The link carries a tag on top of its MTU.
        let (said, _) = over_unix(dir.path(), &target, mtu, &theirs, "verify 4");
        assert!(said.contains("VERIFY-OK 4 MiB"), "{said}");
        is_clean(&pcap);
    }
}

/// Two machines, one with a lesser and one with a greater port name than the target, on a switch; twelve LUNs, of which
/// the second sees two.
#[test]
fn two_initiators_share_a_target_behind_a_switch() {
    if !is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let switch = format!("fc{}", std::process::id());
    let ports = [("a", "b"), ("c", "d")].map(|(us, them)| format!("unix:{}:{},mtu=2500", path(us), path(them)));
    let switched = Ours::start(
        &["switch", &switch, "--ports", "target", "--attach", &ports[0], "--attach", &ports[1], "--wait", "sleep"],
        "runs",
    );
    let luns: Vec<String> = (0..12).map(|i| format!("--lun={i}=ram:8M")).collect();
    let first = "--allow=20:00:52:54:00:fc:0e:01=0,1,2,3,4,5,6,7,8,9,10,11";
    let second = "--allow=20:00:52:54:00:fc:0e:09=3,7";
    let port = format!("vale:{switch}:target,mtu=2500");
    let arguments: Vec<&str> = ["fcoe", "target", "-i", &port, "--mac", "52:54:00:fc:0e:05", first, second]
        .into_iter()
        .chain(luns.iter().map(String::as_str))
        .collect();
    let ours = Ours::start(&arguments, "LUN 11");
    let count =
        |n| format!("i=0; until [ $(luns | wc -l) = {n} ] || [ $i = 100 ]; do usleep 200000; i=$((i+1)); done; luns; ");
    let machines = [
        machine(
            &["--unix", &format!("{}:{}", path("b"), path("a")), "--mac", "52:54:00:fc:0e:01"],
            &(count(12) + "set -e; DISK=/dev/sda verify 4; DISK=/dev/sdl verify 4; echo SEEN-$(luns | wc -l)"),
        ),
        machine(
            &["--unix", &format!("{}:{}", path("d"), path("c")), "--mac", "52:54:00:fc:0e:09"],
            &(count(2) + "set -e; DISK=/dev/sda verify 4; echo SEEN-$(luns | wc -l)"),
        ),
    ];
    let [first, second] = machines.map(finished);
    assert!(first.contains("SEEN-12") && first.matches("VERIFY-OK").count() == 2, "{first}");
    assert!(second.contains("SEEN-2") && second.contains("VERIFY-OK"), "{second}");
    let counters = ours.stop();
    assert_eq!(counter(&counters, "sessions"), 2, "{counters}");
    switched.stop();
}
