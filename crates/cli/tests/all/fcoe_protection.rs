//! Tests of protection information (T10 DIF) from a program's data to a target's file and back: `linerate fcoe read`,
//! `write` and `initiator`, and `linerate xdd`.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, LIMIT, Process};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LEN: usize = 1 << 20;

struct Rig {
    dir: tempfile::TempDir,
    port: String,
    _target: Process,
}

impl Rig {
    /// Starts a target with a file that has protection information of this type.
    fn new(kind: u8) -> Self {
        let (dir, cable) = (tempfile::tempdir().unwrap(), format!("cable:pi-{kind}-{}", std::process::id()));
        let disk = dir.path().join("disk");
        std::fs::write(&disk, vec![0; LEN]).unwrap();
        let (theirs, lun) = (format!("{cable}{{1,mtu=2180"), format!("0=file:{},pi={kind}", disk.display()));
        let target = Process::linerate(&["fcoe", "target", "-i", &theirs, "--lun", &lun], "LUN 0");
        Self { dir, port: format!("{cable}}}1"), _target: target }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn fcoe(&self, what: &str, more: &[&str]) -> Output {
        run(&[&["fcoe", what, "-i", &self.port], more].concat())
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
    assert_eq!(said(&wrote), format!("1048576 bytes, protection type {kind}, checked by CRC\n"));
    let read = rig.fcoe("read", &["--pi", "ip,app=0x1234", back]);
    assert_eq!(said(&read), format!("1048576 bytes, protection type {kind}, checked by IP checksum\n"));
    assert!(std::fs::read(back).unwrap() == bytes);
    let other = rig.fcoe("read", &["--pi", "crc,app=0x4321", back]);
    let why = if kind == 2 { "(0b/10/02) at LBA 0" } else { "the application tag of the block at 0 is wrong" };
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
