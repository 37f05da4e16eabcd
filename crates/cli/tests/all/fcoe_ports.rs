//! Tests of a target with two ports: one disk by two ways, for the kernel's multipath.
#![cfg(target_os = "linux")]

use crate::process::Process;
use crate::rig;

/// The guest's second port, a device of both, and a load on it while one way is cut after the other: each file is on the disk
/// before the next.
const LOAD: &str = r#"set -e
    until_() { i=0; until eval $1 || [ $i = 600 ]; do usleep 100000; i=$((i+1)); done; eval $1 || { echo NEVER $1; exit 1; }; }
    ip link set eth1 mtu 2500; ip link set eth1 up; echo eth1 > /sys/bus/fcoe/ctlr_create
    echo vn2vn > /sys/bus/fcoe/devices/ctlr_1/mode; echo 1 > /sys/bus/fcoe/devices/ctlr_1/enabled
    until_ '[ -b /dev/sdb ]'; modprobe dm-multipath; modprobe dm-round-robin; modprobe ext4
    echo NAMES $(cat /sys/block/sd?/device/wwid | sort -u | wc -l) $(cat /sys/block/sd?/device/wwid | wc -l)
    for d in sda sdb; do sg_vpd -p di /dev/$d | grep -i 'relative target port'; done
    echo 2 | tee /sys/class/fc_remote_ports/rport-*/fast_io_fail_tmo >/dev/null
    export DM_DISABLE_UDEV=1; dmsetup create mp --table "0 $(cat /sys/block/sda/size) multipath 1 queue_if_no_path 0 2 1 round-robin 0 1 1 /dev/sda 1000 round-robin 0 1 1 /dev/sdb 1000"
    /usr/bin/mke2fs -q -t ext4 /dev/mapper/mp; mount -t ext4 /dev/mapper/mp /mnt
    files() { for i in $1; do dd if=/dev/urandom of=/mnt/$i bs=128k count=4 2>/dev/null; sync; sha256sum /mnt/$i >> /tmp/sums; echo FILE-$i; done; }
    active() { dmsetup status mp | grep -o '8:[0-9]* [AF]' | tr '\n' ' '; }
    files '1 2'; ( sleep 1; ip link set eth0 down ) & files '3 4 5 6'; until_ '[ "$(active)" = "8:0 F 8:16 A " ]'; echo FIRST-CUT; files '7 8'
    ip link set eth0 up; until_ 'sg_turs /dev/sda >/dev/null 2>&1'; dmsetup message mp 0 reinstate_path 8:0; files '9'
    ( sleep 1; ip link set eth1 down ) & dmsetup message mp 0 switch_group 2 || true; files '10 11 12'; echo SECOND-CUT $(active)
    umount /mnt; /usr/bin/e2fsck -fn /dev/mapper/mp; echo 3 > /proc/sys/vm/drop_caches
    mount -t ext4 /dev/mapper/mp /mnt; sha256sum -c /tmp/sums; umount /mnt; echo ALL-DONE"#;

/// dm-multipath over the two ports of one target: with either of them cut under load, no write fails.
#[test]
fn one_of_two_ways_is_cut_and_no_write_fails() {
    if !rig::is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let disk = path("disk");
    std::fs::File::create(&disk).unwrap().set_len(64 << 20).unwrap();
    let port = |us: &str, vm: &str| format!("unix:{}:{},mtu=2500", path(us), path(vm));
    let (one, two, lun) = (port("us1", "vm1"), port("us2", "vm2"), format!("0=file:{disk}"));
    let target = Process::linerate(&["fcoe", "target", "-i", &one, "-i", &two, "--lun", &lun], "LUN 0");
    let second = format!("{}:{}", path("vm2"), path("us2"));
    let link = format!("{}:{}", path("vm1"), path("us1"));
    let said = rig::initiator(&link, &["--unix2", &second, "--cmd", LOAD]).done();
    assert!(said.contains("NAMES 1 2"), "one name, by both ways: {said}");
    for number in 1..=2 {
        assert!(said.contains(&format!("Relative target port: 0x{number}")), "{said}");
    }
    assert!(said.contains("FIRST-CUT") && said.contains("SECOND-CUT"), "{said}");
    assert!(said.contains("ALL-DONE") && said.matches(": OK").count() == 12, "{said}");
    for bad in ["Buffer I/O error", "Remounting filesystem read-only", "EXT4-fs error"] {
        assert!(!said.contains(bad), "{said}");
    }
    let status = target.stop();
    assert_eq!(status.matches("sessions ").count(), 2, "a list for each port: {status}");
}
