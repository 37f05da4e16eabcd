//! A disk with a volatile cache, behind an NBD server of this process, whose power can be cut: of what is in the cache,
//! each sector is then of any of the states that it had since it was last on stable storage.

use super::{SECTOR, until};
use linerate_block::{Backend, Completion, Geometry, Operation, Tag};
use linerate_nbd::Exported;
use linerate_rt::block::nbd::{Address, NbdServer};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// A promise that the disk breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breaks {
    Nothing,
    /// A flush ends at once, and nothing is on stable storage.
    Flush,
    /// A write with FUA goes to the cache only.
    Fua,
}

/// The contents of the disk.
pub(super) struct Cells {
    /// As read.
    pub(super) current: Vec<u8>,
    /// On stable storage.
    pub(super) stable: Vec<u8>,
    /// States of each sector in the cache, in order.
    cached: BTreeMap<usize, Vec<[u8; SECTOR]>>,
    breaks: Breaks,
    random: u64,
    /// Sectors that lost a state with the power.
    pub(super) lost: u64,
}

impl Cells {
    /// A number below `bound` (xorshift64*, Vigna 2016).
    fn below(&mut self, bound: usize) -> usize {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        usize::try_from(self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap() % bound
    }

    fn put(&mut self, at: usize, data: [u8; SECTOR], fua: bool) {
        let range = at * SECTOR..(at + 1) * SECTOR;
        self.current[range.clone()].copy_from_slice(&data);
        if fua && self.breaks != Breaks::Fua {
            self.stable[range].copy_from_slice(&data);
            self.cached.remove(&at);
        } else {
            self.cached.entry(at).or_default().push(data);
        }
    }

    fn flush(&mut self) {
        if self.breaks != Breaks::Flush {
            self.stable.copy_from_slice(&self.current);
            self.cached.clear();
        }
    }

    /// The power goes, and comes back.
    fn forget(&mut self) {
        for (at, states) in std::mem::take(&mut self.cached) {
            let kept = self.below(states.len() + 1);
            self.lost += u64::from(kept < states.len());
            if let Some(state) = kept.checked_sub(1) {
                self.stable[at * SECTOR..(at + 1) * SECTOR].copy_from_slice(&states[state]);
            }
        }
        self.current.copy_from_slice(&self.stable);
    }
}

/// The disk as a back end of one start of the server.
struct Disk {
    geometry: Geometry,
    cells: Arc<Mutex<Cells>>,
    ended: VecDeque<Completion>,
}

impl Backend for Disk {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        let mut cells = self.cells.lock().unwrap();
        let first = |lba: u64| usize::try_from(lba).unwrap();
        let mut zero = |lba, blocks: u64, fua| {
            (first(lba)..first(lba + blocks)).for_each(|at| cells.put(at, [0; SECTOR], fua));
        };
        let buffer = match operation {
            Operation::Read { lba, mut buffer } => {
                let from = first(lba) * SECTOR;
                let len = buffer.len();
                buffer.bytes_mut().copy_from_slice(&cells.current[from..from + len]);
                Some(buffer)
            }
            Operation::Write { lba, buffer, fua } => {
                for (at, data) in (first(lba)..).zip(buffer.bytes().chunks_exact(SECTOR)) {
                    cells.put(at, data.try_into().unwrap(), fua);
                }
                Some(buffer)
            }
            Operation::Flush => {
                cells.flush();
                None
            }
            Operation::Discard { lba, blocks } => {
                zero(lba, blocks, false);
                None
            }
            Operation::WriteZeroes { lba, blocks, fua, .. } => {
                zero(lba, blocks, fua);
                None
            }
        };
        self.ended.push_back(Completion { tag, buffer, result: Ok(()) });
    }

    fn complete(&mut self) -> Option<Completion> {
        self.ended.pop_front()
    }
}

/// The disk's server in a thread, until it is dropped.
pub(super) struct Power {
    cells: Arc<Mutex<Cells>>,
    supply: Arc<Supply>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Supply {
    wanted: AtomicBool,
    is_on: AtomicBool,
    end: AtomicBool,
}

impl Supply {
    /// Serves the disk while there is power.
    fn serve(&self, socket: PathBuf, cells: &Arc<Mutex<Cells>>) {
        let address = [Address::Unix(socket)];
        let size = cells.lock().unwrap().current.len() as u64;
        let geometry = Geometry {
            block_size: u32::try_from(SECTOR).unwrap(),
            blocks: size / SECTOR as u64,
            physical_exponent: 0,
            read_only: false,
            volatile: true,
            discards: true,
            discard_zeroes: true,
            protection: false,
            product: "power",
            serial: 1,
        };
        while !self.end.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_micros(100));
            if !self.wanted.load(Ordering::Relaxed) {
                continue;
            }
            let mut server = NbdServer::listen(&address, false).unwrap();
            let disk = Disk { geometry: geometry.clone(), cells: cells.clone(), ended: VecDeque::new() };
            let mut service = Exported::new("disk", disk);
            self.is_on.store(true, Ordering::Relaxed);
            while self.wanted.load(Ordering::Relaxed) && !self.end.load(Ordering::Relaxed) {
                if !server.handle(&mut service) {
                    std::thread::sleep(Duration::from_micros(100));
                }
            }
            drop(server);
            self.is_on.store(false, Ordering::Relaxed);
        }
    }
}

impl Power {
    /// A disk of zeros that is served at this socket.
    pub(super) fn on(socket: &Path, size: usize, breaks: Breaks, seed: u64) -> Self {
        let (current, stable) = (vec![0; size], vec![0; size]);
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let cells = Cells { current, stable, cached: BTreeMap::new(), breaks, random, lost: 0 };
        let (cells, supply) = (Arc::new(Mutex::new(cells)), Arc::new(Supply::default()));
        let thread = std::thread::spawn({
            let (socket, cells, supply) = (socket.to_owned(), cells.clone(), supply.clone());
            move || supply.serve(socket, &cells)
        });
        let power = Self { cells, supply, thread: Some(thread) };
        power.switch(true);
        power
    }

    fn switch(&self, on: bool) {
        self.supply.wanted.store(on, Ordering::Relaxed);
        until("the disk's server starts or ends", || self.supply.is_on.load(Ordering::Relaxed) == on);
    }

    /// Cuts the power, looks at what is left, and gives the power back.
    pub(super) fn cut(&self, look: impl FnOnce(&Cells)) {
        self.switch(false);
        let mut cells = self.cells();
        cells.forget();
        look(&cells);
        drop(cells);
        self.switch(true);
    }

    pub(super) fn cells(&self) -> MutexGuard<'_, Cells> {
        self.cells.lock().unwrap()
    }
}

impl Drop for Power {
    fn drop(&mut self) {
        self.supply.end.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}
