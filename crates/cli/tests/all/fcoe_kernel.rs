//! Tests of `linerate fcoe` against the Linux kernel's FCoE, in virtual machines (tests/rig): its initiator uses our
//! target. tshark checks the frames on the wire.
#![cfg(target_os = "linux")]

use crate::process::{Process, counter};
use crate::rig::{self, initiator};
use std::path::Path;
use std::process::Command;

/// Checks that the capture has FCoE frames, and that tshark finds none malformed and no wrong CRC.
fn is_clean(pcap: &Path) {
    let count = |filter: &str| {
        let output = Command::new("tshark").arg("-r").arg(pcap).args(["-Y", filter]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().count()
    };
    assert!(count("fcoe") > 50 && count("fip") > 5);
    assert_eq!(count("_ws.malformed || fcoe.crc.bad"), 0);
}

/// A file system on the LUN, filled, checked, mounted again; commands as sg3_utils sends them; every byte of 8 MiB, or of as
/// many as `LINERATE_MIB` says, 96 at most.
#[test]
fn the_kernel_keeps_a_file_system_on_our_lun() {
    if !rig::is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let pcap = dir.path().join("all.pcap");
    let mib = std::env::var("LINERATE_MIB").unwrap_or("8".into());
    let command = "set -e; modprobe ext4; verify MIB; sg_turs $DISK; sg_vpd -p bdc $DISK; sg_vpd -p lbpv $DISK; sg_luns $DISK; \
        sg_readcap --16 $DISK; /usr/bin/mke2fs -q -t ext4 $DISK; mount -t ext4 $DISK /mnt; \
        dd if=/dev/urandom of=/mnt/a bs=128k count=MIB 2>/dev/null; cp -r /bin /mnt/b; sync; sha256sum /mnt/a > /tmp/sum; \
        umount /mnt; /usr/bin/e2fsck -fn $DISK; echo 3 > /proc/sys/vm/drop_caches; mount -t ext4 $DISK /mnt; \
        sha256sum -c /tmp/sum; umount /mnt; echo ALL-DONE"
        .replace("MIB", &mib);
    let target = ["--lun", "0=ram:96M", "--mac", "02:00:00:fc:00:02"];
    let (said, counters) = rig::over_unix(dir.path(), &target, "2500", &["--pcap", pcap.to_str().unwrap()], &command);
    assert!(
        said.contains(&format!("VERIFY-OK {mib} MiB")) && said.contains("/mnt/a: OK") && said.contains("ALL-DONE"),
        "{said}"
    );
    assert_eq!((counter(&counters, "frames_bad_crc"), counter(&counters, "frames_refused")), (0, 0));
    assert!(counter(&counters, "commands") > 300, "{counters}");
    is_clean(&pcap);
}

/// Frames of 1452 bytes of data, and then all frames with a tag.
#[test]
fn a_small_mtu_and_a_vlan_are_no_obstacle() {
    if !rig::is_there() {
        return;
    }
    for (mtu, ours, theirs) in [("1500", &[][..], &[][..]), ("2180", &["--vlan", "100"], &["--vlan", "100"])] {
        let dir = tempfile::tempdir().unwrap();
        let pcap = dir.path().join("all.pcap");
        let target = [&["--lun", "0=ram:16M"], ours].concat();
        let theirs = [theirs, &["--pcap", pcap.to_str().unwrap()]].concat();
        // The link carries a tag in addition to its MTU.
        let (said, _) = rig::over_unix(dir.path(), &target, mtu, &theirs, "verify 4");
        assert!(said.contains("VERIFY-OK 4 MiB"), "{said}");
        is_clean(&pcap);
    }
}

/// fcoe-utils' fipvlan asks for the VLAN, makes an interface for it, and the kernel logs in there (FC-BB-6, FIP VLAN Discovery).
#[test]
fn the_kernel_is_told_our_vlan() {
    if !rig::is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let pcap = dir.path().join("all.pcap");
    let pre = "mp 8021q; fipvlan -m vn2vn -c eth0; NIC=$(ls /sys/class/net | grep '^eth0[.]'); ip link set $NIC up; say fcoe on $NIC";
    let (said, _) = rig::over_unix(
        dir.path(),
        &["--lun", "0=ram:16M", "--vlan", "100"],
        "2180",
        &["--pre", pre, "--pcap", pcap.to_str().unwrap()],
        "verify 4",
    );
    assert!(said.contains("fcoe on eth0.100") && said.contains("VERIFY-OK 4 MiB"), "{said}");
    is_clean(&pcap);
}

/// Two machines, one with a lesser and one with a greater port name than the target, on a switch; twelve LUNs, two of
/// which the second machine sees.
#[test]
fn two_initiators_share_a_target_behind_a_switch() {
    if !rig::is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let switch = format!("fc{}", std::process::id());
    let ports = [("a", "b"), ("c", "d")].map(|(us, them)| format!("unix:{}:{},mtu=2500", path(us), path(them)));
    let mut switched = rig::ours(&[
        "switch", &switch, "--ports", "target", "--attach", &ports[0], "--attach", &ports[1], "--wait", "sleep",
    ]);
    switched.until("runs");
    let luns: Vec<String> = (0..12).map(|i| format!("--lun={i}=ram:8M")).collect();
    let first = "--allow=20:00:52:54:00:fc:0e:01=0,1,2,3,4,5,6,7,8,9,10,11";
    let second = "--allow=20:00:52:54:00:fc:0e:09=3,7";
    let port = format!("vale:{switch}:target,mtu=2500");
    let arguments: Vec<&str> = ["fcoe", "target", "-i", &port, "--mac", "52:54:00:fc:0e:05", first, second]
        .into_iter()
        .chain(luns.iter().map(String::as_str))
        .collect();
    let mut ours = rig::ours(&arguments);
    ours.until("LUN 11");
    let count =
        |n| format!("i=0; until [ $(luns | wc -l) = {n} ] || [ $i = 600 ]; do usleep 200000; i=$((i+1)); done; luns; ");
    let begin = |ends: [&str; 2], mac, n, rest: &str| {
        let link = format!("{}:{}", path(ends[0]), path(ends[1]));
        initiator(&link, &["--mac", mac, "--cmd", &(count(n) + rest)])
    };
    let machines = [
        begin(
            ["b", "a"],
            "52:54:00:fc:0e:01",
            12,
            "set -e; DISK=/dev/sda verify 4; DISK=/dev/sdl verify 4; echo SEEN-$(luns | wc -l)",
        ),
        begin(["d", "c"], "52:54:00:fc:0e:09", 2, "set -e; DISK=/dev/sda verify 4; echo SEEN-$(luns | wc -l)"),
    ];
    let [first, second] = machines.map(Process::done);
    assert!(first.contains("SEEN-12") && first.matches("VERIFY-OK").count() == 2, "{first}");
    assert!(second.contains("SEEN-2") && second.contains("VERIFY-OK"), "{second}");
    let counters = ours.stop();
    assert_eq!(counter(&counters, "sessions"), 2, "{counters}");
    switched.stop();
}

/// A MAC address, from which a node's names and the first N_Port_ID that it proposes are made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mac([u8; 6]);

impl Mac {
    /// A random unicast address, except those of VN_Ports.
    fn random(random: &mut impl FnMut() -> u64) -> Self {
        let mut bytes: [u8; 6] = random().to_be_bytes()[..6].try_into().unwrap();
        bytes[0] = if bytes[0] & 0xfe == 0x0e { 0x02 } else { bytes[0] & 0xfe };
        Self(bytes)
    }

    /// First N_Port_ID: the lower 16 bits of the port's name; 0 and FFFF are not valid.
    fn first_id(self) -> u32 {
        match u32::from_be_bytes([0, 0, self.0[4], self.0[5]]) {
            0 | 0xffff => 1,
            id => id,
        }
    }
}

impl std::fmt::Display for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.map(|byte| format!("{byte:02x}")).join(":"))
    }
}

/// A kernel and our node that meet, and which of them is there first.
struct Pair {
    kernel: Mac,
    ours: Mac,
    kernel_first: bool,
    /// True if both propose the same N_Port_ID.
    conflict: bool,
}

impl Pair {
    /// Random addresses; eight in a row have all combinations of first, greater name, and conflict.
    fn random(k: u64, random: &mut impl FnMut() -> u64) -> Self {
        let [kernel_first, conflict, kernel_greater] = [1, 2, 4].map(|bit| k & bit != 0);
        let [mut lesser, mut greater] = [Mac::random(random), Mac::random(random)];
        if conflict {
            greater.0[3..].copy_from_slice(&lesser.0[3..]);
        } else if lesser.first_id() == greater.first_id() {
            greater.0[5] ^= 2;
        }
        if lesser.0[..3] == greater.0[..3] {
            greater.0[1] ^= 1;
        }
        if lesser > greater {
            (lesser, greater) = (greater, lesser);
        }
        let (kernel, ours) = if kernel_greater { (greater, lesser) } else { (lesser, greater) };
        Self { kernel, ours, kernel_first, conflict }
    }
}

/// Runs the pairs one after the other in one machine: each pair finds itself, and its I/O is right; the second node
/// with the same N_Port_ID takes another (FC-BB-6, VN2VN probe and claim).
fn meet(pairs: &[Pair]) {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (us, them, pcap) = (path("us"), path("them"), path("all.pcap"));
    let first = |pair: &Pair| if pair.kernel_first { "kernel" } else { "ours" };
    let words = pairs.iter().map(|pair| format!(" {},{},{}", first(pair), pair.kernel, pair.ours));
    let command = format!("pairs{}", words.collect::<String>());
    let rest = ["--mode", "none", "--no-lun", "--put", &rig::file("pairs"), "--pcap", &pcap, "--cmd", &command];
    let mut machine = initiator(&format!("{them}:{us}"), &rest);
    let port = format!("unix:{us}:{them},mtu=2500");
    for (n, pair) in pairs.iter().enumerate() {
        machine.until(&format!("PAIR-{n} {}", if pair.kernel_first { "UP" } else { "LISTENS" }));
        let mut ours =
            rig::ours(&["fcoe", "target", "-i", &port, "--mac", &pair.ours.to_string(), "--lun", "0=ram:4M"]);
        ours.until("ready");
        let line = machine.until(&format!("PAIR-{n} ID"));
        machine.until(&format!("PAIR-{n} DONE"));
        let said = ours.stop();
        let hex = |text: &str| u32::from_str_radix(text.trim(), 16).unwrap_or_else(|e| panic!("{e}: {text}"));
        let kernels = hex(line.split_once("ID 0x").unwrap_or_else(|| panic!("{line}")).1);
        let addresses = said.lines().filter_map(|line| line.strip_prefix("address ")?.strip_suffix(": ready"));
        let [ours] = addresses.map(hex).collect::<Vec<_>>()[..] else { panic!("one address:\n{said}") };
        let kept = [kernels == pair.kernel.first_id(), ours == pair.ours.first_id()];
        let keep = if pair.conflict { [pair.kernel_first, !pair.kernel_first] } else { [true; 2] };
        let who =
            format!("kernel {} is {kernels:06x}, ours {} is {ours:06x}, {} first", pair.kernel, pair.ours, first(pair));
        assert!(kept == keep && kernels != ours, "{who}\n{said}");
        println!("{who}");
    }
    let said = machine.done();
    assert_eq!(said.matches("VERIFY-OK 1 MiB").count(), pairs.len(), "{said}");
    is_clean(Path::new(&pcap));
}

/// `LINERATE_SEED=n` selects other addresses, `LINERATE_PAIRS=n` the number of pairs.
#[test]
fn random_addresses_meet_and_the_second_to_an_id_takes_another() {
    if !rig::is_there() {
        return;
    }
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| text.parse().unwrap_or_else(|e| panic!("{name}={text}: {e}")))
    };
    let (seed, count) = (number("LINERATE_SEED", 1), number("LINERATE_PAIRS", 8));
    println!("LINERATE_SEED={seed} LINERATE_PAIRS={count}");
    // SplitMix64 (Steele, Lea and Flood, 2014).
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    let pairs: Vec<Pair> = (0..count).map(|k| Pair::random(k, &mut random)).collect();
    pairs.chunks(8).for_each(meet);
}
