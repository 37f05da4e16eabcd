//! What a LUN keeps, as the Linux kernel's initiator and sg3_utils set it, in virtual machines (tests/rig).
#![cfg(target_os = "linux")]

use crate::process::{BINARY, Process, SEARCH};
use crate::rig::{self, initiator};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Starts a target with its state in a directory, and returns when its LUN is there.
fn target(dir: &Path, port: &str, device: &str) -> Process {
    let lun = format!("0={device},naa=3123456789abcdef");
    let mut command = Command::new(BINARY);
    command.env("STATE_DIRECTORY", dir.join("state")).args(["fcoe", "target", "-i", port, "--lun", &lun]);
    Process::ready(command, "LUN 0").within(Duration::from_secs(290))
}

/// The same on a file, for machines.
fn on_file(dir: &Path) -> Process {
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let port = format!("unix:{}:{},mtu=2500", path("us"), path("them"));
    target(dir, &port, &format!("file:{}", path("disk")))
}

/// Runs a command in a machine with that MAC address.
fn machine(dir: &Path, mac: &str, command: &str) -> String {
    let link = format!("{}:{}", dir.join("them").to_str().unwrap(), dir.join("us").to_str().unwrap());
    initiator(&link, &["--mac", mac, "--cmd", command]).done()
}

const FIRST: &str = "52:54:00:fc:0e:01";
const SECOND: &str = "52:54:00:fc:0e:09";

/// The kernel turns the write cache off and on; sanitizing; a reservation that outlives the target's death.
#[test]
fn what_an_initiator_sets_is_in_force_until_it_says_otherwise() {
    if !rig::is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("disk"), vec![0x55; 16 << 20]).unwrap();
    let first = on_file(dir.path());
    let said = machine(
        dir.path(),
        FIRST,
        "set -e; cd /sys/class/scsi_disk/*; cat cache_type; echo 'write through' > cache_type; cat cache_type; \
         echo 'write back' > cache_type; cat cache_type; cd /; \
         sg_logs --page=0x19 $DISK; sg_logs --page=0x10 $DISK | head -5; sg_modes --page=0x0a $DISK; \
         sg_opcodes $DISK | grep -c -e 'Sanitize' -e 'Format unit' -e 'Mode select' -e 'Log sense' -e 'ORWRITE'; \
         sg_raw -s 8 -i /dev/zero $DISK 48 81 00 00 00 00 00 00 08 00 || echo REFUSED; \
         sg_raw $DISK 48 82 00 00 00 00 00 00 00 00; sg_requests $DISK; sg_turs $DISK || echo BUSY; \
         i=0; until sg_turs $DISK || [ $i = 600 ]; do usleep 100000; i=$((i+1)); done; \
         dd if=$DISK bs=1M count=16 iflag=direct 2>/dev/null | tr -d '\\0' | wc -c; \
         sg_persist --out --register --param-sark=7 --param-aptpl $DISK >/dev/null; \
         sg_persist --out --reserve --param-rk=7 --prout-type=3 $DISK >/dev/null; sg_persist -i -c $DISK; echo ALL-DONE",
    );
    assert!(said.contains("write back") && said.contains("write through") && said.contains("REFUSED"), "{said}");
    assert!(said.contains("Persist Through Power Loss Active(PTPL_A): 1") && said.contains("ALL-DONE"), "{said}");
    assert!(std::fs::read(dir.path().join("disk")).unwrap().iter().all(|byte| *byte == 0), "it was sanitized");
    first.kill();

    let again = on_file(dir.path());
    let said = machine(
        dir.path(),
        SECOND,
        "sg_persist -i -r $DISK; dd if=$DISK of=/dev/null bs=4k count=1 iflag=direct || echo KEPT-OUT",
    );
    assert!(said.contains("Exclusive Access") && said.contains("KEPT-OUT"), "{said}");
    again.kill();
}

/// A reservation in a file of a target that was, and one in a damaged file.
#[test]
fn a_reservation_in_a_file_is_in_force_and_a_damaged_one_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("state/units/3123456789abcdef");
    std::fs::create_dir_all(kept.parent().unwrap()).unwrap();
    let lines = "linerate unit 1\nname 3123456789abcdef\nkey 2000020000000099 0 0000000000000007\n\
                 held 3 2000020000000099 0\npersist\n";
    let document = format!("{lines}end {:016x}\n", linerate_rt::hash(lines.as_bytes()));
    for (damaged, document) in [(false, document.clone()), (true, document.replace("held 3", "held 1"))] {
        std::fs::write(&kept, &document).unwrap();
        let name = format!("kept-{}-{damaged}", std::process::id());
        let target = target(dir.path(), &format!("cable:{name}{{1"), "ram:64M");
        let port = format!("cable:{name}}}1");
        let mut read = Command::new(BINARY);
        read.args(["fcoe", "read", "-i", &port, "--lun", "0", "--bytes", "4k", "-"]).args(SEARCH);
        let read = read.output().unwrap();
        assert_eq!(read.status.success(), damaged, "{read:?}");
        let why = String::from_utf8_lossy(&read.stderr).into_owned();
        assert_eq!(why.contains("SCSI status 18h"), !damaged, "{why}");
        let said = target.stop();
        assert_eq!(
            said.matches("damaged; reservations in it are not in force").count(),
            usize::from(damaged),
            "{said}"
        );
        let aside = kept.with_extension("damaged");
        assert_eq!((kept.exists(), aside.exists()), (!damaged, damaged));
        if damaged {
            assert_eq!(std::fs::read_to_string(aside).unwrap(), document);
        }
    }
}
