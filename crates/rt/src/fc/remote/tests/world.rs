//! A target with a protected disk in a file, an initiator, and between them a wire that can damage what it carries.

use super::super::{Integrity, Remote, RemoteCompletion};
use crate::block::{FileBackend, FileOptions, Protected, ProtectedOptions};
use crate::fc::{FcNode, FcOptions, FcPort, FcRx, FcTx, Watcher};
use crate::line::Line;
use crate::machine::{Machine, Sleeper};
use linerate_block::{Backend, Buffer, Operation, Tag};
use linerate_fcoe::{
    DeviceServer, Disks, DisksConfig, InitiatorConfig, Lun, Node, NodeConfig, NodeEvent, PeerId, ProtectionTuple,
    ProtectionType, Response, Step, TargetConfig, Task, TaskAttribute, Transmit, UnitOptions,
};
use linerate_nic::{NicRx, NicTx};
use linerate_port::{Link, open_all};
use linerate_wire::scsi::lun_bytes;
use linerate_wire::{FcoeFrame, FcoeRepr, MacAddr, Wwn, r_ctl};
use std::collections::VecDeque;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

const COUNT: u64 = 4096;
const TAG: Tag = Tag(77);

/// Data of so many blocks, all different.
pub(super) fn pattern(count: usize, block: u32) -> Vec<u8> {
    let block = block as usize;
    (0..count * block).map(|i| u8::try_from((i * 7 + i / block * 3 + i / 256) % 251).unwrap()).collect()
}

/// Damage that the wire does, with a right CRC behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// To data to the target: the first frame of each sequence.
    Out,
    /// To data to the initiator: the first frame of each sequence.
    In,
    /// To the target's responses: their status is BUSY.
    Busy,
    /// To the target's responses: they are lost.
    Silent,
    /// To the target's responses with CHECK CONDITION: others overtake them, until there is no damage any more.
    Late,
    /// None on the wire: the unit has an attention of its log, and keeps it until REQUEST SENSE, as with UA_INTLCK_CTRL 10b
    /// (SPC-5, clause 7.5.10). It grows then by this many blocks, which is an attention too.
    Interlock(u64),
}

/// The remote disks of the initiator; none at the target.
struct Client(Option<Remote>);

impl Watcher<Disks> for Client {
    fn event(&mut self, now: u64, event: &NodeEvent, _: &mut Node<Disks>) {
        if let Some(remote) = &mut self.0 {
            remote.event(now, event);
        }
    }
    fn turn(&mut self, now: u64, node: &mut Node<Disks>) -> bool {
        let Some((initiator, logins)) = node.initiator_mut() else { return false };
        self.0.as_mut().is_some_and(|remote| remote.turn(now, initiator, logins))
    }
    fn poll_timeout(&self) -> Option<u64> {
        None
    }
    fn waits_for(&mut self, _: &mut dyn FnMut(&mut dyn Sleeper)) {}
    fn is_done(&self) -> bool {
        false
    }
}

/// One end of the wire.
struct End {
    tx: FcTx,
    out: NicTx,
    rx: FcRx,
    arrivals: NicRx,
    /// Frames that wait for room.
    waiting: VecDeque<Vec<u8>>,
}

impl End {
    fn new(name: &str) -> Self {
        let port = open_all(&[name]).unwrap().remove(0);
        let mut nic = Line::adapter(port, 1, MacAddr([2, 0, 0, 0, 0, 9]), false).unwrap();
        nic.control().change(0, |vi| (vi.promiscuous, vi.mtu) = (true, 2180)).unwrap();
        let (mut out, arrivals) = (nic.take_tx(0).unwrap(), nic.take_rx(0).unwrap());
        Self { tx: FcTx::new(&mut out, 0, None), out, rx: FcRx::new(0), arrivals, waiting: VecDeque::new() }
    }

    fn receive(&mut self, mut reader: impl FnMut(Vec<u8>)) {
        self.arrivals.poll(0);
        self.rx.receive(&mut self.arrivals, usize::MAX, |frame, _| reader(frame.to_vec()));
    }

    fn send(&mut self) {
        while let Some(frame) = self.waiting.front() {
            if !self.tx.over(&mut self.out, 0).frame(frame) {
                break;
            }
            self.waiting.pop_front();
        }
        self.out.sync(0);
    }
}

pub(super) struct World {
    target: FcNode<Disks, Client>,
    initiator: FcNode<Disks, Client>,
    /// Ends of the wire towards initiator and target.
    ends: [End; 2],
    damage: Option<Damage>,
    late: Vec<Vec<u8>>,
    now: u64,
    block: u32,
    path: PathBuf,
    /// Number in the names of the cables.
    number: u32,
    folder: tempfile::TempDir,
}

/// A LUN of the target.
type Device = (u16, Box<dyn Backend>, UnitOptions);

fn node(port: &str, devices: Vec<Device>, remote: Option<Remote>) -> FcNode<Disks, Client> {
    let port = FcPort::open(port, &FcOptions::default()).unwrap();
    let config = NodeConfig {
        target: remote.is_none().then(TargetConfig::default),
        initiator: remote.as_ref().map(|_| InitiatorConfig::default()),
        ..port.config()
    };
    let mut disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 16 << 20 });
    for (lun, device, options) in devices {
        disks.add_with(lun, device, options).unwrap();
    }
    port.node(&config, disks, Client(remote)).unwrap()
}

impl World {
    /// One disk with protection information.
    pub(super) fn new(kind: u8, block: u32, integrity: Integrity) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        std::fs::File::create(&path).unwrap().set_len(COUNT * u64::from(block)).unwrap();
        let options = FileOptions { read_only: false, block_size: block, direct: false };
        let file = FileBackend::open(&path, &options).unwrap();
        let device = Protected::open(file, &path, &ProtectedOptions { kind, makes: true, adopts: false }).unwrap();
        let options = UnitOptions { protection: ProtectionType::of(kind), name: None };
        Self::with(vec![(0, Box::new(device), options)], Remote::new(None, 0, integrity), block, path, folder)
    }

    /// Disks in files by these names, LUN 0 the first one, and an initiator whose operations are held for a minute.
    pub(super) fn files(names: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(names[0]);
        let device = |(lun, name): (u16, &&str)| (lun, file(folder.path(), name), UnitOptions::default());
        let devices = (0..).zip(names).map(device).collect();
        let remote = Remote::new(None, 60_000_000_000, Integrity::OFF).watching(5_000_000_000);
        Self::with(devices, remote, 512, path, folder)
    }

    fn with(devices: Vec<Device>, remote: Remote, block: u32, path: PathBuf, folder: tempfile::TempDir) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = |which, end| format!("cable:fc-pi-{which}-{number}{end}1,mtu=2180");
        let target = node(&name("target", "{"), devices, None);
        let initiator = node(&name("initiator-0", "{"), Vec::new(), Some(remote));
        let ends = [End::new(&name("initiator-0", "}")), End::new(&name("target", "}"))];
        let (damage, late, now) = (None, Vec::new(), 1);
        let mut world = Self { target, initiator, ends, damage, late, now, block, path, number, folder };
        world.log_in();
        world
    }

    /// Runs until the disk is found. The links come up in their own time.
    fn log_in(&mut self) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.remote().units().iter().all(|unit| unit.peer.is_none()) {
            assert!(Instant::now() < until, "the disk is not found");
            self.turn(1_000_000);
            if [&self.initiator, &self.target].iter().any(|node| node.line().link() != Link::Up) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Continues with another initiator, which checks this.
    pub(super) fn integrity(&mut self, integrity: Integrity) {
        let name = |end| format!("cable:fc-pi-initiator-1-{}{end}1,mtu=2180", self.number);
        self.initiator = node(&name("{"), Vec::new(), Some(Remote::new(None, 0, integrity)));
        self.ends[0] = End::new(&name("}"));
        self.log_in();
    }

    pub(super) fn remote(&mut self) -> &mut Remote {
        self.initiator.watcher().0.0.as_mut().unwrap()
    }

    pub(super) fn wire(&mut self, damage: Option<Damage>) {
        self.damage = damage;
    }

    /// A turn of everything, `ns` nanoseconds after the last one.
    fn turn(&mut self, ns: u64) {
        self.now += ns;
        let _ = self.initiator.handle(self.now);
        let asked = self.carry();
        if let Some(Damage::Interlock(grows)) = self.damage {
            self.clear_log();
            if asked {
                self.damage = None;
                self.hush(0);
                self.resize(0, "a", COUNT + grows);
            }
        }
        let _ = self.target.handle(self.now);
        self.carry();
    }

    /// Carries all frames; true if there was REQUEST SENSE to the target.
    fn carry(&mut self) -> bool {
        let mut asked = false;
        let damage = self.damage;
        let [near, far] = &mut self.ends;
        let late = &mut self.late;
        if damage != Some(Damage::Late) {
            near.waiting.extend(late.drain(..));
        }
        near.receive(|frame| {
            asked |= is_request_sense(&frame);
            far.waiting.extend(carried(frame, damage.filter(|damage| *damage == Damage::Out)));
        });
        far.receive(|frame| match damage {
            Some(Damage::Late) if is_check(&frame) => late.push(frame),
            _ => near.waiting.extend(carried(frame, damage.filter(|damage| *damage != Damage::Out))),
        });
        near.send();
        far.send();
        asked
    }

    fn submit(&mut self, operation: Operation) {
        self.remote().submit(0, TAG, operation);
    }

    /// Begins to write, and lets this many seconds pass; the result, if there is one by then.
    pub(super) fn write_for(&mut self, lba: u64, data: &[u8], seconds: u64) -> Option<Result<(), String>> {
        self.submit(Operation::Write { lba, buffer: buffer(data), fua: false });
        self.pass(seconds)
    }

    /// Lets this many seconds pass; the result of the operation, if there is one by then.
    fn pass(&mut self, seconds: u64) -> Option<Result<(), String>> {
        let until = self.now + seconds * 1_000_000_000;
        while self.now < until {
            if let Some(done) = self.remote().complete() {
                return Some(done.trouble.map_or(Ok(()), Err));
            }
            self.turn(10_000_000);
            self.settle();
        }
        None
    }

    /// Lets the medium end what it has, in its own time, in which little passes.
    pub(super) fn settle(&mut self) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.disks().status().any(|disk| disk.in_flight > 0) {
            assert!(Instant::now() < until, "the medium does not end");
            self.turn(1000);
        }
    }

    /// Lets this many milliseconds pass.
    pub(super) fn wait(&mut self, ms: u64) {
        (0..ms).for_each(|_| self.turn(1_000_000));
    }

    fn disks(&mut self) -> &mut Disks {
        self.target.watcher().1.target_mut().unwrap().device_mut()
    }

    pub(super) fn remove(&mut self, lun: u16) {
        self.disks().remove(lun).unwrap();
    }

    /// Adds a LUN in the file of this name.
    pub(super) fn add(&mut self, lun: u16, name: &str) {
        let device = file(self.folder.path(), name);
        self.disks().add(lun, device).unwrap();
    }

    /// A command of the initiator that the wire does not carry.
    fn in_its_name(&mut self, lun: u16, command: &[u8]) -> Step {
        let nexus = self.target.node().peers().next().unwrap().id;
        let mut cdb = [0; 16];
        cdb[..command.len()].copy_from_slice(command);
        let lun = Lun(lun_bytes(lun).unwrap());
        let (attribute, tag) = (TaskAttribute::Simple, Tag(60_000));
        self.disks().command(0, &Task { tag, nexus, lun, cdb: &cdb, attribute, data_out: 0, data_in: 255 })
    }

    /// Lets the target forget that it waits for INQUIRY of a LUN's names: most targets do not wait.
    pub(super) fn trust(&mut self, lun: u16) {
        let Step::Send { buffer, .. } = self.in_its_name(lun, &[0x12, 1, 0x83, 0, 0xff, 0]) else { panic!("it sends") };
        self.disks().give_back(buffer);
        self.remote().units.iter_mut().for_each(|unit| unit.written.guarded = false);
    }

    /// Number of writes that a disk has ended behind which it has said its name.
    pub(super) fn verified(&mut self, unit: usize) -> u64 {
        self.remote().units[unit].written.verified
    }

    /// Lets the target forget all news of a LUN.
    pub(super) fn hush(&mut self, lun: u16) {
        let told =
            |step| matches!(step, Step::End(response) if response.parsed_sense().is_some_and(|sense| sense.key.0 == 6));
        while told(self.in_its_name(lun, &[0])) {}
    }

    /// Clears LUN 0's log in the name of another initiator: LOG SELECT with PCR (SPC-4, clause 6.6).
    fn clear_log(&mut self) {
        let nexus = PeerId { index: 200, generation: 1 };
        let mut cdb = [0; 16];
        (cdb[0], cdb[1]) = (0x4c, 2);
        let lun = Lun(lun_bytes(0).unwrap());
        let (attribute, tag) = (TaskAttribute::Simple, Tag(60_001));
        let task = Task { tag, nexus, lun, cdb: &cdb, attribute, data_out: 0, data_in: 0 };
        self.disks().nexus(nexus, Wwn(7));
        // The first answer is of the reset before its login.
        let told = [(); 2].map(|()| self.disks().command(0, &task));
        assert!(matches!(told[1], Step::End(Response { status: 0, .. })), "{told:?}");
    }

    /// Stops a LUN, or starts it (SBC-3, clause 5.25): a stopped one is not ready. Nothing is flushed for it.
    pub(super) fn start_stop(&mut self, lun: u16, start: bool) {
        self.hush(lun);
        let step = self.in_its_name(lun, &[0x1b, 0, 0, 0, if start { 1 } else { 4 }, 0]);
        assert!(matches!(step, Step::End(Response { status: 0, .. })), "{step:?}");
    }

    /// Makes a file of this size in blocks.
    pub(super) fn make(&mut self, name: &str, blocks: u64) {
        std::fs::File::create(self.folder.path().join(name)).unwrap().set_len(blocks * 512).unwrap();
    }

    /// Gives a LUN's file this size in blocks.
    pub(super) fn resize(&mut self, lun: u16, name: &str, blocks: u64) {
        let file = std::fs::OpenOptions::new().write(true).open(self.folder.path().join(name)).unwrap();
        file.set_len(blocks * 512).unwrap();
        assert_eq!(self.disks().refresh(lun), Ok(blocks * 512));
    }

    /// Content of a file.
    pub(super) fn content(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.path().join(name)).unwrap()
    }

    /// Submits writes of a block each, of ones, from an LBA on, to a disk.
    pub(super) fn write_ones(&mut self, unit: usize, lba: u64, count: u64) {
        for lba in lba..lba + count {
            self.remote().submit(unit, TAG, Operation::Write { lba, buffer: buffer(&[1; 512]), fua: false });
        }
    }

    /// Results of so many operations: what is told of those that fail.
    pub(super) fn ends(&mut self, count: usize) -> Vec<Result<(), String>> {
        (0..count).map(|_| self.end().map(drop)).collect()
    }

    /// Result of what goes on, with this many seconds and all the time that the medium takes.
    pub(super) fn end_after(&mut self, seconds: u64) -> Result<(), String> {
        self.pass(seconds).unwrap_or_else(|| self.end().map(drop))
    }

    /// Waits for the operation; the error is what is told of it. The medium takes its own time, in which little passes.
    fn end(&mut self) -> Result<Vec<u8>, String> {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(RemoteCompletion { completion, trouble, .. }) = self.remote().complete() {
                assert!(completion.tag == TAG && (trouble.is_none() || completion.result.is_err()));
                // What is refused without a command is told of once, as news.
                let trouble = trouble.or(completion.result.err().map(|error| format!("{error:?}")));
                let data = completion.buffer.map_or_else(Vec::new, |buffer| buffer.bytes().to_vec());
                return trouble.map_or(Ok(data), Err);
            }
            assert!(Instant::now() < until, "the operation does not end");
            self.turn(1000);
        }
    }

    pub(super) fn write(&mut self, lba: u64, data: &[u8]) -> Result<(), String> {
        self.submit(Operation::Write { lba, buffer: buffer(data), fua: false });
        self.end().map(drop)
    }

    /// Writes data of which a byte changes after it was handed over.
    pub(super) fn write_damaged(&mut self, lba: u64, data: &[u8], at: usize) -> Result<(), String> {
        self.submit(Operation::Write { lba, buffer: buffer(data), fua: false });
        self.memory().1[at] ^= 1;
        self.end().map(drop)
    }

    pub(super) fn zero(&mut self, lba: u64, blocks: u64, discard: bool) -> Result<(), String> {
        self.submit(Operation::WriteZeroes { lba, blocks, discard, fua: false });
        self.end().map(drop)
    }

    pub(super) fn read(&mut self, lba: u64, blocks: usize) -> Result<Vec<u8>, String> {
        self.submit(Operation::Read { lba, buffer: Buffer::new(blocks * self.block as usize) });
        self.end()
    }

    /// Reads data of which a byte changes after the first of several commands has placed it.
    pub(super) fn read_damaged(&mut self, lba: u64, blocks: usize, at: usize) -> Result<Vec<u8>, String> {
        self.submit(Operation::Read { lba, buffer: Buffer::new(blocks * self.block as usize) });
        while self.memory().0 == blocks as u64 {
            self.turn(1000);
        }
        assert!(self.memory().0 > 0, "there are several");
        self.memory().1[at] ^= 1;
        self.end()
    }

    /// Blocks that are left of the operation, and its memory.
    fn memory(&mut self) -> (u64, &mut [u8]) {
        self.remote().jobs[0].as_mut().unwrap().memory()
    }

    /// Mismatches found by us, and by the target: guards, application tags, reference tags.
    pub(super) fn found(&mut self) -> ([u64; 3], [u64; 3]) {
        let unit = &self.remote().units()[0];
        [unit.found_here, unit.found_there].map(|found| [found.guard, found.application, found.reference]).into()
    }

    fn side(&self) -> std::fs::File {
        let path = Protected::<FileBackend>::side_of(&self.path);
        std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap()
    }

    /// Offset of a block's protection information in the side file.
    fn at_side(&self, lba: u64) -> u64 {
        self.side().metadata().unwrap().len() - (COUNT - lba) * 8
    }

    /// Protection information of a block, as the medium has it.
    pub(super) fn tuple(&self, lba: u64) -> ProtectionTuple {
        let mut bytes = [0; 8];
        self.side().read_exact_at(&mut bytes, self.at_side(lba)).unwrap();
        ProtectionTuple::parse(bytes.map(|byte| !byte))
    }

    pub(super) fn damage_side(&self, lba: u64, at: u64) {
        flip(&self.side(), self.at_side(lba) + at);
    }

    pub(super) fn damage_data(&self, lba: u64, at: u64) {
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&self.path).unwrap();
        flip(&file, lba * u64::from(self.block) + at);
    }

    /// Puts a block with its protection information in the place of another.
    pub(super) fn misplace(&self, from: u64, to: u64) {
        let data = std::fs::OpenOptions::new().read(true).write(true).open(&self.path).unwrap();
        let (mut block, mut tuple) = (vec![0; self.block as usize], [0; 8]);
        data.read_exact_at(&mut block, from * u64::from(self.block)).unwrap();
        data.write_all_at(&block, to * u64::from(self.block)).unwrap();
        self.side().read_exact_at(&mut tuple, self.at_side(from)).unwrap();
        self.side().write_all_at(&tuple, self.at_side(to)).unwrap();
    }
}

/// A disk in a file of this name, which is made if there is none.
fn file(folder: &Path, name: &str) -> Box<dyn Backend> {
    let path = folder.join(name);
    let file = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path).unwrap();
    if file.metadata().unwrap().len() == 0 {
        file.set_len(COUNT * 512).unwrap();
    }
    Box::new(FileBackend::open(&path, &FileOptions { read_only: false, block_size: 512, direct: false }).unwrap())
}

fn flip(file: &std::fs::File, at: u64) {
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
}

fn buffer(data: &[u8]) -> Buffer {
    let mut buffer = Buffer::new(data.len());
    buffer.bytes_mut().copy_from_slice(data);
    buffer
}

/// Length of the headers before the payload of an FC frame without optional ones.
const HEADER: usize = ETHERNET + FcoeFrame::HEADER_LEN + 24;
const ETHERNET: usize = 14;
/// Offset of the status in FCP_RSP (FCP-4, clause 9.5).
const STATUS: usize = 11;

/// True for REQUEST SENSE: FCP_CMND has the CDB behind 12 bytes (FCP-4, clause 9.1).
fn is_request_sense(bytes: &[u8]) -> bool {
    FcoeFrame::new_checked(&bytes[ETHERNET..])
        .is_ok_and(|frame| frame.header().r_ctl == r_ctl::COMMAND && frame.payload()[12] == 3)
}

/// True for a response with CHECK CONDITION.
fn is_check(bytes: &[u8]) -> bool {
    FcoeFrame::new_checked(&bytes[ETHERNET..])
        .is_ok_and(|frame| frame.header().r_ctl == r_ctl::STATUS && bytes[HEADER + STATUS] == 2)
}

/// The frame; if it meets this damage, with the CRC that goes with it, or nothing.
fn carried(mut bytes: Vec<u8>, damage: Option<Damage>) -> Option<Vec<u8>> {
    let (Some(damage), Ok(frame)) = (damage, FcoeFrame::new_checked(&bytes[ETHERNET..])) else { return Some(bytes) };
    let header = *frame.header();
    let (sof, eof) = (frame.sof(), frame.eof());
    match (damage, header.r_ctl) {
        // Other commands than READ and WRITE move less than a block.
        (Damage::In | Damage::Out, r_ctl::DATA) if header.parameter == 0 && frame.payload().len() >= 512 => {
            bytes[HEADER + 100] ^= 0x10;
        }
        (Damage::Busy, r_ctl::STATUS) => bytes[HEADER + STATUS] = 0x08,
        (Damage::Silent, r_ctl::STATUS) => return None,
        _ => return Some(bytes),
    }
    let frame = FcoeFrame::new_checked(&bytes[ETHERNET..]).unwrap();
    let trailer = FcoeRepr { sof, eof }.trailer(linerate_sum::crc32(frame.covered()));
    let end = ETHERNET + FcoeFrame::HEADER_LEN + frame.covered().len();
    bytes[end..end + trailer.len()].copy_from_slice(&trailer);
    Some(bytes)
}
