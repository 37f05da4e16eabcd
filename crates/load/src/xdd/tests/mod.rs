//! Tests of xdd as a whole, on disks in memory.

mod fcoe;
mod flags;
mod run_flags;
mod running;
mod words;

use super::engine::{Blocks, Engine, Request};
use super::*;
use crate::lines::Lines;
use linerate_block::{Backend, BackendError, Completion, Geometry, Operation, Tag};
use linerate_result::RunResult;
use linerate_rt::Stop;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// An operation received: kind, offset in bytes, length, FUA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Op {
    /// Kind: r, w or f.
    what: char,
    at: u64,
    len: usize,
    fua: bool,
}

/// A disk of these tests, and the operations that it received.
#[derive(Default)]
struct Disk {
    data: Vec<u8>,
    ops: Vec<Op>,
    /// Greatest number of requests in flight.
    most: usize,
    /// Block of which reads and writes fail.
    bad: Option<u64>,
    /// Number of failures after which that block is good; none: it stays bad.
    heals: Option<u32>,
    read_only: bool,
    /// Processors of the thread that drives it, and its nice value.
    cpus: Vec<usize>,
    nice: String,
}

static DISKS: Mutex<BTreeMap<String, Arc<Mutex<Disk>>>> = Mutex::new(BTreeMap::new());
static NAMES: AtomicU32 = AtomicU32::new(0);

/// Makes a disk of so many blocks of 512 bytes under a name of its own.
fn disk(blocks: usize) -> (String, Arc<Mutex<Disk>>) {
    let name = format!("/test/{}", NAMES.fetch_add(1, Relaxed));
    let disk = Arc::new(Mutex::new(Disk { data: vec![0; blocks * 512], ..Disk::default() }));
    DISKS.lock().unwrap().insert(name.clone(), disk.clone());
    (name, disk)
}

struct Held {
    disk: Arc<Mutex<Disk>>,
    geometry: Geometry,
    under_way: VecDeque<(Tag, Operation)>,
}

impl Held {
    fn new(disk: &Arc<Mutex<Disk>>) -> Self {
        let (blocks, read_only) = {
            let disk = disk.lock().unwrap();
            (disk.data.len() as u64 / 512, disk.read_only)
        };
        let geometry = Geometry {
            block_size: 512,
            blocks,
            physical_exponent: 0,
            read_only,
            volatile: false,
            discards: false,
            discard_zeroes: false,
            protection: false,
            product: "test",
            serial: 0,
        };
        Self { disk: disk.clone(), geometry, under_way: VecDeque::new() }
    }
}

impl Backend for Held {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        self.under_way.push_back((tag, operation));
        let mut disk = self.disk.lock().unwrap();
        disk.most = disk.most.max(self.under_way.len());
    }

    /// Completes the last operation first.
    fn complete(&mut self) -> Option<Completion> {
        let (tag, operation) = self.under_way.pop_back()?;
        let mut disk = self.disk.lock().unwrap();
        let (bad, heals) = (disk.bad, disk.heals);
        let fails = |lba: u64| bad == Some(lba) && heals != Some(0);
        let result = |lba: u64| if fails(lba) { Err(BackendError::Medium) } else { Ok(()) };
        let (op, buffer, result) = match operation {
            Operation::Read { lba, mut buffer } => {
                let (at, len) = (lba * 512, buffer.len());
                let from = usize::try_from(at).unwrap();
                buffer.bytes_mut().copy_from_slice(&disk.data[from..from + len]);
                (Op { what: 'r', at, len, fua: false }, Some(buffer), result(lba))
            }
            Operation::Write { lba, buffer, fua } => {
                let (at, len) = (lba * 512, buffer.len());
                let to = usize::try_from(at).unwrap();
                disk.data[to..to + len].copy_from_slice(buffer.bytes());
                (Op { what: 'w', at, len, fua }, Some(buffer), result(lba))
            }
            Operation::Flush => (Op { what: 'f', at: 0, len: 0, fua: false }, None, Ok(())),
            other => panic!("{other:?}"),
        };
        if result.is_err() {
            disk.heals = heals.map(|left| left - 1);
        }
        disk.ops.push(op);
        Some(Completion { tag, buffer, result })
    }
}

/// Opens disks of these tests.
fn open(request: &Request<'_>) -> engine::Opened {
    let name = request.target.name.split('+').next().unwrap();
    let disk = DISKS.lock().unwrap().get(name).cloned().ok_or("no such disk; give another")?;
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    disk.lock().unwrap().cpus = linerate_rt::cpus();
    // proc(5): the name in brackets, then the state is field 3 and nice field 19.
    disk.lock().unwrap().nice = stat.rsplit(')').next().unwrap().split_whitespace().nth(16).unwrap_or("?").into();
    let engine = |disk| -> Box<dyn Engine> { Box::new(Blocks::new(Held::new(disk), "memory of a test".into())) };
    Ok((0..request.units).map(|_| engine(&disk)).collect())
}

fn config(text: &str) -> Result<Config, String> {
    let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    match Config::parse(&arguments)? {
        Command::Run(config) => Ok(*config),
        Command::Print(text) => Err(text),
    }
}

/// Output of a run.
struct Left {
    out: String,
    log: String,
    result: RunResult,
    fio: serde_json::Value,
    all: Account,
    targets: Vec<Account>,
}

fn run_config(config: &Config) -> Result<Left, String> {
    run_opened_by(config, open)
}

fn run_opened_by(config: &Config, open: engine::Open) -> Result<Left, String> {
    let (out, log) = (Lines::default(), Lines::default());
    let stop = Stop::new().unwrap();
    let mut streams = Streams::open(config, Box::new(out.clone()), Box::new(log.clone()), &stop)?;
    let finished = run(config, open, vec!["xdd".into()], &stop, &mut streams).map_err(|e| e.to_string())?;
    let Finished { result, fio, all, targets } = finished;
    Ok(Left { out: out.text(), log: log.text(), result, fio, all, targets })
}

/// Runs `-targets 1 DISK -blocksize 512 -reqsize 1 TEXT`; the disk has 64 blocks.
fn one(text: &str) -> (Left, Vec<Op>, Arc<Mutex<Disk>>) {
    let (name, disk) = disk(64);
    let left = on(&name, text);
    let ops = disk.lock().unwrap().ops.clone();
    (left, ops, disk)
}

fn on(name: &str, text: &str) -> Left {
    run_config(&config(&format!("-targets 1 {name} -blocksize 512 -reqsize 1 {text}")).unwrap()).unwrap()
}

fn ops(text: &str) -> Vec<Op> {
    one(text).1
}

fn places(text: &str) -> Vec<u64> {
    ops(text).iter().map(|op| op.at / 512).collect()
}
