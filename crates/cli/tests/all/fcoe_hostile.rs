//! A target with two ports: what one initiator sends is changed on its way, and another one's data is right all the same.
//!
//! `LINERATE_CHANGES=n` goes on until n frames were changed, `LINERATE_SEED=n` changes others.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, LIMIT, Process, SEARCH};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const LEN: usize = 1 << 20;
/// Bytes of an Ethernet header, and of it and FCoE's: FC's header follows.
const ETHERNET: usize = 14;
const FC: usize = 28;

/// A socket, and the path of its peer, who may end and come again.
struct End<'a>(&'a UnixDatagram, PathBuf);

impl End<'_> {
    fn send(&self, frame: &[u8]) {
        // What does not fit is lost, as in a network.
        let _ = self.0.send_to(frame, &self.1);
    }
}

/// Somebody in the middle, who changes what goes one way.
struct Middle<'a> {
    from: End<'a>,
    to: End<'a>,
    seed: u64,
    /// Frames that come late, or again.
    kept: Vec<Vec<u8>>,
    changed: &'a AtomicU64,
}

impl Middle<'_> {
    fn chance(&mut self, below: usize) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        usize::try_from(self.seed >> 8).unwrap() % below
    }

    /// Passes frames on until it is told to end.
    fn run(mut self, end: &AtomicBool) {
        for end in [&self.from, &self.to] {
            end.0.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        }
        let mut frame = vec![0; 4096];
        while !end.load(Relaxed) {
            for _ in 0..16 {
                let Ok(len) = self.from.0.recv(&mut frame) else { break };
                self.forward(&frame[..len]);
            }
            for _ in 0..16 {
                let Ok(len) = self.to.0.recv(&mut frame) else { break };
                self.from.send(&frame[..len]);
            }
        }
    }

    fn forward(&mut self, frame: &[u8]) {
        let mut frame = frame.to_vec();
        match self.chance(200) {
            0 => return,
            1..=4 => self.kept.push(frame.clone()),
            5..=12 => self.change(&mut frame),
            13..=18 if !self.kept.is_empty() => {
                let at = self.chance(self.kept.len());
                let mut old = self.kept[at].clone();
                if self.chance(2) == 0 {
                    self.change(&mut old);
                }
                self.to.send(&old);
            }
            _ => {}
        }
        self.to.send(&frame);
        self.kept.truncate(256);
    }

    /// Changes some bytes behind the Ethernet header, mostly of headers, and makes the CRC right; or cuts the frame.
    fn change(&mut self, frame: &mut Vec<u8>) {
        self.changed.fetch_add(1, Relaxed);
        for _ in 0..=self.chance(3) {
            let end = if self.chance(3) > 0 { frame.len().min(100) } else { frame.len() };
            let at = ETHERNET + self.chance(end - ETHERNET);
            frame[at] = match self.chance(4) {
                0 => frame[at] ^ 1 << self.chance(8),
                1 => 0,
                2 => 0xff,
                _ => u8::try_from(self.chance(256)).unwrap(),
            };
        }
        if self.chance(8) == 0 {
            let len = (FC + self.chance(frame.len())).max(60);
            frame.resize(len, 0);
        }
        if frame[12..14] == [0x89, 0x06] {
            let trailer = frame.len() - 8;
            let crc = crc32(&frame[FC..trailer]);
            frame[trailer..trailer + 4].copy_from_slice(&crc.to_le_bytes());
        }
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

fn fcoe(limit: u64, arguments: &[&str]) -> Output {
    Command::new("timeout").args([&limit.to_string(), BINARY, "fcoe"]).args(arguments).output().unwrap()
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// The disk that is written and read honestly: LUN 0 at the first port, for an initiator of this name only.
fn honest(dir: &Path, port: &str, changed: &AtomicU64) {
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (data, back) = (path("data"), path("back"));
    let copy = |what: &str, file: &str| {
        let words = [what, "-i", port, "--mac", "02:00:00:00:00:0a", "--lun", "0", file];
        let done = fcoe(LIMIT.as_secs(), &[&words[..], &SEARCH].concat());
        let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && said.starts_with("1048576 bytes"), "{what}: {said}");
    };
    let (enough, begun) = (number("LINERATE_CHANGES", 12), Instant::now());
    let mut bytes = Vec::new();
    for round in 0.. {
        if changed.load(Relaxed) >= enough {
            break;
        }
        assert!(begun.elapsed() < 3 * LIMIT || enough > 12, "only {changed:?} frames were changed");
        // Mostly it is read: whoever else writes there is seen then.
        if round % 8 == 0 {
            bytes =
                (0..LEN as u64).map(|i| ((i + round * 77).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
            std::fs::write(&data, &bytes).unwrap();
            copy("write", &data);
        }
        copy("read", &back);
        assert!(std::fs::read(&back).unwrap() == bytes, "round {round}");
    }
}

#[test]
fn what_is_changed_on_the_way_to_one_port_harms_nobody_at_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let cable = format!("cable:hostile-{}", std::process::id());
    for disk in ["mine", "theirs"] {
        std::fs::File::create(path(disk)).unwrap().set_len(LEN as u64).unwrap();
    }
    std::fs::write(path("other"), vec![0xee; 4 << 10]).unwrap();
    let sockets = ["near", "far"].map(|name| UnixDatagram::bind(path(name)).unwrap());
    let (first, second) = (format!("{cable}{{1,mtu=2180"), format!("unix:{}:{},mtu=2180", path("us"), path("near")));
    let luns = [format!("0=file:{},pi=1", path("mine")), format!("1=file:{},pi=1", path("theirs"))];
    let mut target = Process::linerate(
        &[
            "fcoe",
            "target",
            "-i",
            &first,
            "-i",
            &second,
            "--lun",
            &luns[0],
            "--lun",
            &luns[1],
            "--allow",
            "20:00:02:00:00:00:00:0a=0",
            "--allow",
            "20:00:52:54:00:77:66:55=1",
        ],
        "LUN 1",
    );
    let theirs = format!("unix:{}:{},mtu=2180", path("them"), path("far"));
    let (end, seed) = (AtomicBool::new(false), number("LINERATE_SEED", 1));
    let changed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (end, changed, near, far, dir) = (&end, &changed, &sockets[0], &sockets[1], dir.path());
        // Its own commands end as they may; the LUN that it may not see is none to it.
        let hostile = scope.spawn(move || {
            let mut round = 0;
            while !end.load(Relaxed) {
                round += 1;
                let (what, lun, file) =
                    [("write", "0", "other"), ("read", "1", "away"), ("write", "0", "other"), ("write", "1", "other")]
                        [round % 4];
                let file = dir.join(file);
                fcoe(3, &[what, "-i", &theirs, "--mac", "52:54:00:77:66:55", "--lun", lun, file.to_str().unwrap()]);
            }
        });
        let middle = scope.spawn(move || {
            let (from, to) = (End(far, dir.join("them")), End(near, dir.join("us")));
            Middle { from, to, seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, kept: Vec::new(), changed }.run(end);
        });
        struct Ends<'a>(&'a AtomicBool);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.0.store(true, Relaxed);
            }
        }
        let ends = Ends(end);
        honest(dir, &format!("{cable}}}1"), changed);
        drop(ends);
        hostile.join().unwrap();
        middle.join().unwrap();
    });
    assert!(!target.ends_within(Duration::ZERO));
    let said = target.stop();
    eprintln!("{changed:?} frames were changed; {said}");
}
