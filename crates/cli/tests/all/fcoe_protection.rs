//! Tests of protection information (T10 DIF) from a program's data to a target's file and back: `linerate fcoe read`,
//! `write` and `initiator`, and `linerate xdd`.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, LIMIT, Process, SEARCH};
use crate::rig;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const LEN: usize = 1 << 20;

struct Rig {
    dir: tempfile::TempDir,
    cable: String,
    port: String,
    target: Option<Process>,
}

/// Starts a target with the file of this directory, which has protection information of this type.
fn target(dir: &tempfile::TempDir, kind: u8, cable: &str) -> Process {
    let (theirs, disk) = (format!("{cable}{{1,mtu=2180"), dir.path().join("disk"));
    let lun = format!("0=file:{},pi={kind}", disk.display());
    Process::linerate(&["fcoe", "target", "-i", &theirs, "--lun", &lun], "LUN 0")
}

impl Rig {
    /// Starts a target with a file that has protection information of this type.
    fn new(kind: u8) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let (dir, cable) = (tempfile::tempdir().unwrap(), format!("cable:pi-{number}-{}", std::process::id()));
        std::fs::write(dir.path().join("disk"), vec![0; LEN]).unwrap();
        let target = Some(target(&dir, kind, &cable));
        Self { dir, port: format!("{cable}}}1"), cable, target }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn fcoe(&self, what: &str, more: &[&str]) -> Output {
        run(&[&["fcoe", what, "-i", &self.port], &SEARCH[..], more].concat())
    }
}

fn run(arguments: &[&str]) -> Output {
    let limit = LIMIT.as_secs().to_string();
    Command::new("timeout").args([&limit, BINARY]).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Changes a bit of a file.
fn damage(path: &Path, at: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

#[test]
fn damage_in_a_target_s_file_reaches_no_program() {
    let bytes: Vec<u8> =
        (0..LEN).map(|i| (u32::try_from(i).unwrap().wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    // Most of the time is spent in looking for targets.
    std::thread::scope(|scope| {
        for kind in [1, 2, 3] {
            let bytes = &bytes;
            scope.spawn(move || damaged(kind, bytes));
        }
    });
}

/// Damage of a disk with protection information of this type, with `bytes` on it, as programs see it.
fn damaged(kind: u8, bytes: &[u8]) {
    let rig = Rig::new(kind);
    let (input, back) = (rig.path("in"), rig.path("back"));
    std::fs::write(&input, bytes).unwrap();
    let (input, back) = (input.to_str().unwrap(), back.to_str().unwrap());
    let listed = said(&rig.fcoe("ls", &[]));
    assert!(listed.contains(&format!("1048576 bytes protection type {kind}\n")), "{listed}");
    let wrote = rig.fcoe("write", &["--pi", "crc,app=0x1234", input]);
    assert!(said(&wrote).ends_with(&format!("/0, protection type {kind}, checked by CRC\n")), "{}", said(&wrote));
    let read = rig.fcoe("read", &["--pi", "ip,app=0x1234", back]);
    assert!(said(&read).ends_with(&format!("/0, protection type {kind}, checked by IP checksum\n")), "{}", said(&read));
    assert!(std::fs::read(back).unwrap() == bytes);
    let other = rig.fcoe("read", &["--pi", "crc,app=0x4321", back]);
    // Whichever READ ends first.
    let why = if kind == 2 { "(0b/10/02) at LBA " } else { "the application tag of the block at " };
    assert!(other.status.code() == Some(1) && said(&other).contains(why), "{}", said(&other));

    damage(&rig.path("disk"), 300 * 512 + 7);
    let read = rig.fcoe("read", &[back]);
    assert!(said(&read).contains("LOGICAL BLOCK GUARD CHECK FAILED (0b/10/01) at LBA 300"), "{}", said(&read));
    // The target checks nothing, and we do; then neither does.
    let read = rig.fcoe("read", &["--pi", "crc,protect=3", back]);
    assert!(said(&read).contains("the guard of the block at 300 is wrong: its data has changed"), "{}", said(&read));
    assert_eq!(read.status.code(), Some(1));

    let socket = rig.path("lun");
    let address = format!("unix:{}", socket.display());
    let export = format!("/0: LINERATE file, 1048576 bytes, protection type {kind}, checked by IP checksum");
    let options = ["--nbd", &address, "--pi", "ip,protect=3"];
    let mut server = Process::linerate(&[&["fcoe", "initiator", "-i", &rig.port], &options[..]].concat(), &export);
    let uri = format!("nbd+unix:///?socket={}", socket.display());
    let xdd = |what: &[&str]| run(&[&["xdd", "-target", &uri, "-blocksize", "512"], what].concat());
    let wrote = xdd(&["-op", "write", "-reqsize", "8", "-numreqs", "4", "-datapattern", "sequenced"]);
    assert_eq!(wrote.status.code(), Some(0), "{}", said(&wrote));
    let verify = ["-op", "read", "-reqsize", "8", "-datapattern", "sequenced", "-verify", "contents"];
    let read = xdd(&[&verify[..], &["-numreqs", "4"]].concat());
    assert_eq!(read.status.code(), Some(0), "{}", said(&read));
    let read = xdd(&["-op", "read", "-reqsize", "100", "-numreqs", "4"]);
    assert_eq!(read.status.code(), Some(1), "{}", said(&read));
    server.line_with("/0: READ of 100 blocks at 300: the guard of the block at 300 is wrong");
    let end = server.stop();
    let line = "mismatches found here: 1 guards, 0 application tags, 0 reference tags; by the target: 0 guards,";
    assert!(end.contains(line), "{end}");

    let target = format!("fcoe:{}", rig.port);
    let xdd = |pi: &str| {
        run(&[
            "xdd",
            "-target",
            &target,
            "-op",
            "read",
            "-blocksize",
            "512",
            "-reqsize",
            "1",
            "-numreqs",
            "512",
            "-pi",
            pi,
        ])
    };
    for (pi, why) in [
        ("crc", "LOGICAL BLOCK GUARD CHECK FAILED (0b/10/01) at LBA 300"),
        ("ip,protect=3", "the guard of the block at 300 is wrong: its data has changed"),
    ] {
        let read = xdd(pi);
        assert!(read.status.code() == Some(1) && said(&read).contains(why), "{}", said(&read));
    }
}

#[test]
fn protection_information_that_is_not_there_is_refused_with_the_reason() {
    for (wrong, why) in [
        (&["fcoe", "read", "-i", "null:", "--pi", "md5"][..], "give crc, ip or off"),
        (&["fcoe", "initiator", "-i", "null:", "--nbd", "unix:/x", "--pi", "crc,protect=9"], "give 1 to 5"),
        (&["xdd", "-target", "/dev/sg0", "-numreqs", "1", "-pi", "crc"], "neither SG_IO nor a file passes"),
        (&["xdd", "-target", "ram:1M", "-numreqs", "1", "-pi", "ip"], "neither SG_IO nor a file passes"),
        (&["xdd", "-target", "fcoe:null:", "-numreqs", "1", "-pi", "crc,app=65535"], "give 0 to 65534"),
    ] {
        let output = run(wrong);
        assert!(output.status.code() == Some(2) && said(&output).contains(why), "{wrong:?}: {}", said(&output));
    }
    let cable = format!("cable:pi-none-{}", std::process::id());
    let theirs = format!("{cable}{{1,mtu=2180");
    let _target = Process::linerate(&["fcoe", "target", "-i", &theirs, "--lun", "0=ram:1M"], "LUN 0");
    let target = format!("fcoe:{cable}}}1");
    let output = run(&["xdd", "-target", &target, "-op", "read", "-numreqs", "1", "-blocksize", "512", "-pi", "crc"]);
    assert!(said(&output).contains("-pi: LUN 0 has no protection information; leave it out"), "{}", said(&output));
}

/// CRC16-T10DIF (SBC-3, clause 4.22.4), bit by bit.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x8bb7 })
    })
}

/// Commands with RDPROTECT and WRPROTECT of Linux's FCoE initiator, which passes the blocks' eight bytes more as any data:
/// it reads what we have made, and we check what it wrote.
#[test]
fn a_kernel_reads_and_writes_the_same_protection_information() {
    if !rig::is_there() {
        return;
    }
    let mut rig = Rig::new(1);
    let bytes: Vec<u8> = (0..64 * 512).map(|i| u8::try_from((i * 7 + i / 512) % 251).unwrap()).collect();
    std::fs::write(rig.path("in"), &bytes).unwrap();
    let wrote = rig.fcoe("write", &["--pi", "ip,app=0x1234", rig.path("in").to_str().unwrap()]);
    assert!(wrote.status.success(), "{}", said(&wrote));
    rig.target.take().unwrap().stop();

    let theirs: Vec<u8> = b"y\n".repeat(256);
    let [high, low] = crc16(&theirs).to_be_bytes();
    let block = |guard: [u8; 2], file: &str| {
        let [high, low] = guard.map(|byte| format!("\\x{byte:02x}"));
        format!("(yes | head -c 512; printf '{high}{low}\\x12\\x34\\x00\\x00\\x00\\x09') >{file}")
    };
    let command = format!(
        "{}; {}; sg_raw -r 520 -o /tmp/r $DISK 88 20 0 0 0 0 0 0 0 7 0 0 0 1 0 0 2>&1; echo \"PI=$(tail -c 8 /tmp/r | od -An -tx1)\"; \
         sg_raw -s 520 -i /tmp/bad $DISK 8a 20 0 0 0 0 0 0 0 9 0 0 0 1 0 0 2>&1; echo SECOND; \
         sg_raw -s 520 -i /tmp/good $DISK 8a 20 0 0 0 0 0 0 0 9 0 0 0 1 0 0 2>&1",
        block([high, low], "/tmp/good"),
        block([high ^ 1, low], "/tmp/bad"),
    );
    let lun = format!("0=file:{},pi=1", rig.path("disk").display());
    let (said, _) =
        rig::over_unix(rig.dir.path(), &["--lun", &lun, "--mac", "02:00:00:fc:00:02"], "2500", &[], &command);
    let guard = crc16(&bytes[7 * 512..8 * 512]);
    let [high, low] = guard.to_be_bytes();
    assert!(said.contains(&format!("PI= {high:02x} {low:02x} 12 34 00 00 00 07")), "{said}");
    let (bad, good) = said.split_once("SECOND").unwrap();
    assert!(bad.to_lowercase().contains("guard check failed") && !good.to_lowercase().contains("check"), "{said}");

    rig.target = Some(target(&rig.dir, 1, &rig.cable));
    let back = rig.path("back");
    let options = ["--pi", "ip,protect=3,app=0x1234", "--offset", "4608", "--bytes", "512", back.to_str().unwrap()];
    let read = rig.fcoe("read", &options);
    assert!(read.status.success() && std::fs::read(&back).unwrap() == theirs, "{read:?}");
}
