//! A target that is killed under load loses no flushed write: `linerate fcoe target` on a file is killed with SIGKILL
//! and started again, while writers behind `linerate fcoe initiator --nbd` record the acknowledged writes.
//!
//! `LINERATE_FLUSHED_KILLS=n` sets the number of kills.
#![cfg(target_os = "linux")]

use crate::process::{LIMIT, Process, until};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
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

fn kills() -> u64 {
    let kills = std::env::var("LINERATE_FLUSHED_KILLS").ok();
    kills.map_or(3, |text| text.parse().expect("LINERATE_FLUSHED_KILLS is a number"))
}

/// A client of the default export (the NBD protocol, newstyle negotiation and simple replies).
struct Nbd(UnixStream);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Request {
    Read = 0,
    Write = 1,
    Flush = 3,
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
        stream.read_exact(&mut [0; 10])?;
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

/// Contents of a sector in a version of a block; zeros in version 0.
fn sector(version: u64, block: usize, at: usize) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    if version > 0 {
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

/// Checks that each sector of a block is of a version that it may have.
fn check(versions: &BTreeSet<u64>, block: usize, data: &[u8]) {
    for (at, found) in data.chunks_exact(SECTOR).enumerate() {
        let is = versions.iter().any(|version| sector(*version, block, at) == *found);
        assert!(is, "sector {at} of block {block} is of none of the versions {versions:?}");
    }
}

/// Writes and flushes until it is stopped, through all restarts of the target.
fn write(nbd: &Path, first: usize, versions: &Versions, flushed: &AtomicU64, stop: &AtomicBool) {
    let mut client = Nbd::open(nbd).unwrap();
    let mut version = 0;
    while !stop.load(Ordering::Relaxed) {
        // A few blocks at once, each only once, so that the meaning of a successful flush is unambiguous.
        version += 1;
        let blocks: Vec<usize> =
            (0..8).map(|i| first + (usize::try_from(version).unwrap() * 5 + i * 7) % BLOCKS).collect();
        let fua = version % 4 == 0;
        for block in &blocks {
            versions.lock().unwrap()[*block].insert(version);
            client.ask(Request::Write, fua, *block as u64, block * BLOCK, BLOCK, &content(version, *block));
        }
        let replies: Vec<(u64, bool)> = blocks.iter().map(|_| client.reply()).collect();
        let stable = fua || client.flush();
        for (block, good) in replies {
            if good && stable {
                let block = usize::try_from(block).unwrap();
                versions.lock().unwrap()[block].retain(|older| *older >= version);
                flushed.fetch_add(1, Ordering::Relaxed);
            } else {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

#[test]
fn a_killed_target_loses_nothing_that_was_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (disk, nbd) = (path("disk"), dir.path().join("nbd"));
    let file = File::options().read(true).write(true).create_new(true).open(&disk).unwrap();
    file.set_len((WRITERS * BLOCKS * BLOCK) as u64).unwrap();
    let (a, b) = (path("a"), path("b"));
    let ours = format!("unix:{a}:{b},mtu=2500");
    let lun = format!("0=file:{disk}");
    let target = || Process::linerate(&["fcoe", "target", "-i", &ours, "--mac", MAC, "--lun", &lun], "LUN 0");
    let mut running = Some(target());
    let theirs = format!("unix:{b}:{a},mtu=2500");
    let server = format!("unix:{}", nbd.display());
    let _initiator = Process::linerate(&["fcoe", "initiator", "-i", &theirs, "--nbd", &server], "export");

    let versions = Mutex::new(vec![BTreeSet::from([0]); WRITERS * BLOCKS]);
    let (flushed, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        // The writers end even if the test fails.
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let stopping = Stop(&stop);
        for writer in 0..WRITERS {
            let (nbd, versions, flushed, stop) = (&nbd, &versions, &flushed, &stop);
            scope.spawn(move || write(nbd, writer * BLOCKS, versions, flushed, stop));
        }
        for kill in 0..kills() {
            let before = flushed.load(Ordering::Relaxed);
            until("blocks are written and flushed", || flushed.load(Ordering::Relaxed) > before + 200);
            std::thread::sleep(Duration::from_millis(kill % 7));
            // Every write acknowledged before the kill is in the file.
            running.take().expect("it runs").kill();
            for (block, versions) in versions.lock().unwrap().iter().enumerate() {
                let mut data = vec![0; BLOCK];
                file.read_exact_at(&mut data, (block * BLOCK) as u64).unwrap();
                check(versions, block, &data);
            }
            running = Some(target());
        }
        let before = flushed.load(Ordering::Relaxed);
        until("blocks are written and flushed", || flushed.load(Ordering::Relaxed) > before);
        drop(stopping);
    });
    // The initiator reads the contents of the file.
    let mut client = Nbd::open(&nbd).unwrap();
    for (block, versions) in versions.lock().unwrap().iter().enumerate() {
        let data = client.read(block * BLOCK).expect("the target is there");
        check(versions, block, &data);
    }
    println!("{} blocks written and flushed, the target killed {} times", flushed.into_inner(), kills());
}
