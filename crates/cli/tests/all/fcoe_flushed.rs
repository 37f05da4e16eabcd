//! Nothing that was written and flushed is lost, from writers behind `linerate fcoe initiator --nbd`, over a cable to
//! `linerate fcoe target`, down to a disk whose cache forgets what was not flushed when its power is cut. Disks that break a
//! promise show that the test would find it. And a target on a file that is killed loses no acknowledged write: the page
//! cache outlives it, so that this says nothing about flushes.
//!
//! `LINERATE_POWER_CUTS=n` and `LINERATE_FLUSHED_KILLS=n` set the number of cuts and of kills, `LINERATE_SEED=n` what a cache
//! forgets.
#![cfg(target_os = "linux")]

mod power;

use crate::process::{LIMIT, Process, until};
use power::{Breaks, Power};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const BLOCK: usize = 4096;
const SECTOR: usize = 512;
/// The target's names are made from it, so they stay the same after a restart.
const MAC: &str = "02:00:00:00:00:01";
/// Number of blocks of each writer.
const BLOCKS: usize = 64;
const WRITERS: usize = 2;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// A client of the default export (the NBD protocol, newstyle negotiation and simple replies).
struct Nbd(UnixStream);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Request {
    Read = 0,
    Write = 1,
    Flush = 3,
    Trim = 4,
    WriteZeroes = 6,
}

impl Nbd {
    fn open(path: &Path) -> std::io::Result<Self> {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting)?;
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        // Fixed newstyle, no zeroes; NBD_OPT_EXPORT_NAME with an empty name.
        stream.write_all(&3_u32.to_be_bytes())?;
        stream.write_all(b"IHAVEOPT\0\0\0\x01\0\0\0\0")?;
        let mut export = [0; 10];
        stream.read_exact(&mut export)?;
        // NBD_FLAG_HAS_FLAGS, SEND_FLUSH, SEND_FUA, and SEND_WRITE_ZEROES.
        assert_eq!(export[9] & 0x4d, 0x4d, "flags {export:?}");
        Ok(Self(stream))
    }

    fn ask(&mut self, request: Request, fua: bool, cookie: u64, offset: usize, len: usize, data: &[u8]) {
        let mut bytes = Vec::with_capacity(28 + data.len());
        bytes.extend(0x2560_9513_u32.to_be_bytes());
        bytes.extend(u16::from(fua).to_be_bytes());
        bytes.extend((request as u16).to_be_bytes());
        bytes.extend(cookie.to_be_bytes());
        bytes.extend((offset as u64).to_be_bytes());
        bytes.extend(u32::try_from(len).unwrap().to_be_bytes());
        bytes.extend(data);
        self.0.write_all(&bytes).unwrap();
    }

    /// Receives the next reply: its cookie, and true if it is no error.
    fn reply(&mut self) -> (u64, bool) {
        let mut bytes = [0; 16];
        self.0.read_exact(&mut bytes).unwrap();
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(word(0), 0x6744_6698);
        (u64::from(word(8)) << 32 | u64::from(word(12)), word(4) == 0)
    }

    fn flush(&mut self) -> bool {
        self.ask(Request::Flush, false, 0, 0, 0, &[]);
        self.reply().1
    }

    fn read(&mut self, offset: usize) -> Option<Vec<u8>> {
        self.ask(Request::Read, false, 0, offset, BLOCK, &[]);
        let mut data = vec![0; BLOCK];
        self.reply().1.then(|| self.0.read_exact(&mut data).map(|()| data).unwrap())
    }
}

/// Contents of a sector in a version of a block; zeros in version 0, and in odd ones.
fn sector(version: u64, block: usize, at: usize) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    if version > 0 && version.is_multiple_of(2) {
        for (i, word) in bytes.chunks_exact_mut(8).enumerate() {
            let word_of = version << 32 ^ (block as u64) << 16 ^ (at as u64) << 8 ^ i as u64;
            word.copy_from_slice(&word_of.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        }
    }
    bytes
}

fn content(version: u64, block: usize) -> Vec<u8> {
    (0..BLOCK / SECTOR).flat_map(|at| sector(version, block, at)).collect()
}

/// Versions that each block may have: the last one acknowledged and flushed, and those written since.
type Versions = Mutex<Vec<BTreeSet<u64>>>;

/// The sectors that are of no version that they may have, a line each.
fn wrong(versions: &Versions, contents: &[u8]) -> Vec<String> {
    let versions = versions.lock().unwrap();
    let blocks = versions.iter().zip(contents.chunks_exact(BLOCK)).enumerate();
    let sectors = blocks.flat_map(|(block, (versions, data))| {
        data.chunks_exact(SECTOR).enumerate().filter_map(move |(at, found)| {
            let is = versions.iter().any(|version| sector(*version, block, at) == *found);
            (!is).then(|| format!("sector {at} of block {block} is of none of the versions {versions:?}"))
        })
    });
    sectors.collect()
}

/// What the writers share.
struct Shared {
    versions: Versions,
    /// Number of blocks that were written and flushed.
    flushed: AtomicU64,
    /// Number of power cuts that have begun: a flush says nothing of what was written before one.
    cuts: AtomicU64,
    stop: AtomicBool,
    /// One batch in so many is written with FUA, without a flush.
    fua: u64,
    /// Blocks are zeroed and discarded too.
    clears: bool,
}

impl Shared {
    fn new(fua: u64, clears: bool) -> Self {
        let versions = Mutex::new(vec![BTreeSet::from([0]); WRITERS * BLOCKS]);
        Self {
            versions,
            flushed: AtomicU64::new(0),
            cuts: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            fua,
            clears,
        }
    }

    /// Waits until so many more blocks have been written and flushed.
    fn until_flushed(&self, more: u64) {
        let before = self.flushed.load(Ordering::SeqCst);
        until("blocks are written and flushed", || self.flushed.load(Ordering::SeqCst) > before + more);
    }

    /// Writes and flushes until it is stopped, through all restarts of the target.
    fn write(&self, nbd: &Path, first: usize) {
        let mut client = Nbd::open(nbd).unwrap();
        let mut batch = 0;
        while !self.stop.load(Ordering::Relaxed) {
            // A few blocks at once, each only once, so that the meaning of a successful flush is unambiguous.
            batch += 1;
            let cuts = self.cuts.load(Ordering::SeqCst);
            let fua = batch % self.fua == 0;
            let version = |i: u64| {
                let clears = self.clears && (batch + i).is_multiple_of(3);
                batch * 2 + u64::from(clears)
            };
            let blocks: Vec<(usize, u64)> =
                (0..8).map(|i| (first + usize::try_from(batch * 5 + i * 7).unwrap() % BLOCKS, version(i))).collect();
            for (block, version) in &blocks {
                self.versions.lock().unwrap()[*block].insert(*version);
                let (cookie, offset) = (*block as u64, block * BLOCK);
                match (version % 2, version % 4) {
                    (0, _) => client.ask(Request::Write, fua, cookie, offset, BLOCK, &content(*version, *block)),
                    // UNMAP has no FUA.
                    (_, 1) if !fua => client.ask(Request::Trim, false, cookie, offset, BLOCK, &[]),
                    _ => client.ask(Request::WriteZeroes, fua, cookie, offset, BLOCK, &[]),
                }
            }
            let replies: Vec<(u64, bool)> = blocks.iter().map(|_| client.reply()).collect();
            let stable = (fua || client.flush()) && self.cuts.load(Ordering::SeqCst) == cuts;
            for (block, good) in replies {
                let block = usize::try_from(block).unwrap();
                let version = blocks.iter().find(|(at, _)| *at == block).unwrap().1;
                if good && stable {
                    self.versions.lock().unwrap()[block].retain(|older| *older >= version);
                    self.flushed.fetch_add(1, Ordering::SeqCst);
                } else if !good {
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        }
    }

    /// Runs the writers while something happens to the target; they end even if that fails.
    fn during(&self, nbd: &Path, happens: impl FnOnce()) {
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        std::thread::scope(|scope| {
            let _stop = Stop(&self.stop);
            for writer in 0..WRITERS {
                scope.spawn(move || self.write(nbd, writer * BLOCKS));
            }
            happens();
        });
    }

    /// What the initiator reads in the end.
    fn read(nbd: &Path) -> Vec<u8> {
        let mut client = Nbd::open(nbd).unwrap();
        (0..WRITERS * BLOCKS).flat_map(|block| client.read(block * BLOCK).expect("the target is there")).collect()
    }
}

/// A target and an initiator over a cable of UNIX sockets.
struct San {
    dir: tempfile::TempDir,
    lun: String,
    nbd: PathBuf,
    target: Option<Process>,
    _initiator: Process,
}

impl San {
    fn new(dir: tempfile::TempDir, lun: String) -> Self {
        let nbd = dir.path().join("nbd");
        let target = Some(Self::target(dir.path(), &lun));
        let port = format!("unix:{0}/b:{0}/a,mtu=2500", dir.path().display());
        let server = format!("unix:{}", nbd.display());
        let _initiator = Process::linerate(&["fcoe", "initiator", "-i", &port, "--nbd", &server], "export");
        Self { dir, lun, nbd, target, _initiator }
    }

    fn target(dir: &Path, lun: &str) -> Process {
        let port = format!("unix:{0}/a:{0}/b,mtu=2500", dir.display());
        Process::linerate(&["fcoe", "target", "-i", &port, "--mac", MAC, "--lun", lun], "LUN 0")
    }

    fn kill(&mut self) {
        self.target.take().expect("it runs").kill();
    }

    fn restart(&mut self) {
        self.target = Some(Self::target(self.dir.path(), &self.lun));
    }
}

/// Cuts the power so many times under writers of whose batches one in `fua` has FUA; in one cut of four the target is
/// killed too. Returns what was found wrong, up to the first cut with any.
fn under_power_cuts(breaks: Breaks, cuts: u64, fua: u64) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("disk");
    let seed = number("LINERATE_SEED", 1);
    let power = Power::on(&socket, WRITERS * BLOCKS * BLOCK, breaks, seed);
    let mut san = San::new(dir, format!("0=nbd+unix:///disk?socket={}", socket.display()));
    // Zeros with FUA are followed by a flush on their way (WRITE SAME has no FUA), which would make up for writes.
    let (nbd, shared) = (san.nbd.clone(), Shared::new(fua, breaks != Breaks::Fua));
    let mut found = Vec::new();
    shared.during(&nbd, || {
        for cut in 0..cuts {
            shared.until_flushed(100);
            std::thread::sleep(Duration::from_millis(cut % 7));
            shared.cuts.fetch_add(1, Ordering::SeqCst);
            if cut % 4 == 3 {
                san.kill();
            }
            power.cut(|cells| found = wrong(&shared.versions, &cells.stable));
            if san.target.is_none() {
                san.restart();
            }
            if !found.is_empty() {
                return;
            }
        }
        shared.until_flushed(100);
    });
    if found.is_empty() {
        found = wrong(&shared.versions, &Shared::read(&nbd));
    }
    let (lost, flushed) = (power.cells().lost, shared.flushed.into_inner());
    println!(
        "{breaks:?} broken: {flushed} blocks written and flushed, {lost} sectors forgotten, {} wrong",
        found.len()
    );
    assert!(lost > 0, "the power cuts cost nothing");
    found
}

#[test]
fn a_power_cut_loses_nothing_that_was_flushed() {
    let found = under_power_cuts(Breaks::Nothing, number("LINERATE_POWER_CUTS", 8), 4);
    assert!(found.is_empty(), "{found:#?}");
}

/// Were a flush, or FUA, lost on its way from the initiator's client to the disk, the test above would find it.
#[test]
fn a_flush_or_fua_that_does_nothing_is_found() {
    for (breaks, fua) in [(Breaks::Flush, 4), (Breaks::Fua, 1)] {
        assert!(!under_power_cuts(breaks, 20, fua).is_empty(), "{breaks:?}");
    }
}

#[test]
fn a_killed_target_loses_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().join("disk");
    let file = File::options().read(true).write(true).create_new(true).open(&disk).unwrap();
    file.set_len((WRITERS * BLOCKS * BLOCK) as u64).unwrap();
    let mut san = San::new(dir, format!("0=file:{}", disk.display()));
    let (nbd, shared) = (san.nbd.clone(), Shared::new(4, false));
    let kills = number("LINERATE_FLUSHED_KILLS", 3);
    shared.during(&nbd, || {
        for kill in 0..kills {
            shared.until_flushed(200);
            std::thread::sleep(Duration::from_millis(kill % 7));
            // Every write acknowledged before the kill is in the file.
            san.kill();
            let mut contents = vec![0; WRITERS * BLOCKS * BLOCK];
            file.read_exact_at(&mut contents, 0).unwrap();
            let found = wrong(&shared.versions, &contents);
            assert!(found.is_empty(), "{found:#?}");
            san.restart();
        }
        shared.until_flushed(0);
    });
    let found = wrong(&shared.versions, &Shared::read(&nbd));
    assert!(found.is_empty(), "{found:#?}");
    println!("{} blocks written and flushed, the target killed {kills} times", shared.flushed.into_inner());
}
