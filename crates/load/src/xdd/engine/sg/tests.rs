//! Tests with a disk in memory that executes commands.

use super::*;
use linerate_wire::scsi::asc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A disk of 512-byte blocks.
struct Disk {
    blocks: Mutex<Vec<u8>>,
    /// All commands received.
    commands: Mutex<Vec<Vec<u8>>>,
    /// Number of unit attentions still to be reported.
    attentions: AtomicU64,
    name: Mutex<Option<u8>>,
    /// What they report.
    news: (u8, u8),
    /// Failure of commands that move data, if any: status, sense key.
    fails: Option<(u8, u8)>,
    /// True if the failure belongs to an earlier command.
    deferred: bool,
    host: u16,
    /// Number of bytes missing in the data read.
    residual: u32,
    /// True if it knows READ CAPACITY (16).
    long: bool,
}

impl Disk {
    fn new() -> Self {
        Self {
            blocks: Mutex::new(vec![0; 64 * 512]),
            commands: Mutex::default(),
            attentions: AtomicU64::new(0),
            name: Mutex::new(Some(1)),
            news: asc::MODE_CHANGED,
            fails: None,
            deferred: false,
            host: 0,
            residual: 0,
            long: true,
        }
    }

    fn moved(&self) -> Vec<Vec<u8>> {
        let commands = self.commands.lock().unwrap();
        commands.iter().filter(|c| !matches!(c[0], 0x9e | 0x25 | 0x12)).cloned().collect()
    }
}

fn check(sense: &mut [u8; 32], key: u8) -> Outcome {
    (sense[0], sense[2]) = (0x70, key);
    Outcome { status: CHECK_CONDITION, driver: 8, sense_len: 18, ..Outcome::default() }
}

impl ScsiGeneric for Arc<Disk> {
    fn execute(&self, command: &[u8], data: Transfer<'_>, sense: &mut [u8; 32], _: u32) -> io::Result<Outcome> {
        self.commands.lock().unwrap().push(command.to_vec());
        if command.starts_with(&[0x12, 1, 0x83])
            && let Transfer::In(data) = data
        {
            let Some(name) = *self.name.lock().unwrap() else { return Ok(check(sense, 5)) };
            data[..6].copy_from_slice(&[0, 0x83, 0, 2, 0, name]);
            return Ok(Outcome { residual: 246, ..Outcome::default() });
        }
        if self.attentions.fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1)).is_ok() {
            (sense[7], sense[12], sense[13]) = (10, self.news.0, self.news.1);
            return Ok(check(sense, 6));
        }
        let word = |at: usize| u32::from_be_bytes(command[at..at + 4].try_into().unwrap()) as usize;
        let lba = match command[0] {
            0x28 | 0x2a => word(2),
            0x88 | 0x8a => word(6),
            _ => 0,
        };
        match (command[0], data) {
            (0x9e, Transfer::In(data)) if self.long => {
                data[..8].copy_from_slice(&63u64.to_be_bytes());
                data[8..12].copy_from_slice(&512u32.to_be_bytes());
            }
            (0x9e, _) => return Ok(check(sense, 5)),
            (0x25, Transfer::In(data)) => {
                data[..4].copy_from_slice(&63u32.to_be_bytes());
                data[4..8].copy_from_slice(&512u32.to_be_bytes());
            }
            _ if self.host != 0 => return Ok(Outcome { host: self.host, ..Outcome::default() }),
            (0x28 | 0x2a | 0x88 | 0x8a | 0x35, _) if self.fails.is_some() => {
                let (status, key) = self.fails.unwrap();
                let outcome = check(sense, key);
                sense[0] |= u8::from(self.deferred);
                return Ok(Outcome { status, ..outcome });
            }
            (0x28 | 0x88, Transfer::In(data)) => {
                let blocks = self.blocks.lock().unwrap();
                data.copy_from_slice(&blocks[lba * 512..][..data.len()]);
                return Ok(Outcome { residual: self.residual, ..Outcome::default() });
            }
            (0x2a | 0x8a, Transfer::Out(data)) => {
                self.blocks.lock().unwrap()[lba * 512..][..data.len()].copy_from_slice(data);
            }
            (0x35, Transfer::Nothing) => {}
            other => panic!("{other:?}"),
        }
        Ok(Outcome::default())
    }
}

fn engine(disk: &Arc<Disk>) -> Sg {
    Sg::new(|| Ok(disk.clone()), None, "mock".into(), 4).unwrap()
}

/// Waits for an operation's end, at most 10 s.
fn ended(engine: &mut Sg) -> Ended {
    for _ in 0..100_000 {
        if let Some(completion) = engine.complete() {
            return completion;
        }
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    panic!("nothing ended in 10 s");
}

fn filled(byte: u8, blocks: usize) -> Buffer {
    let mut buffer = Buffer::new(blocks * 512);
    buffer.bytes_mut().fill(byte);
    buffer
}

#[test]
fn what_is_written_is_read_back_by_the_commands_that_reach() {
    let disk = Arc::new(Disk::new());
    let mut sg = engine(&disk);
    assert_eq!((sg.shape().blocks, sg.shape().block_size), (64, 512));
    sg.submit(Tag(1), Operation::Write { lba: 3, buffer: filled(7, 2), fua: true });
    assert!(ended(&mut sg).result.is_ok());
    sg.submit(Tag(2), Operation::Read { lba: 4, buffer: filled(0, 1) });
    let read = ended(&mut sg);
    assert!(read.tag == Tag(2) && read.result.is_ok());
    assert_eq!(read.buffer.unwrap().bytes(), [7; 512]);
    sg.submit(Tag(3), Operation::Flush);
    assert!(ended(&mut sg).result.is_ok());
    let expected: [&[u8]; 3] =
        [&[0x2a, 8, 0, 0, 0, 3, 0, 0, 2, 0], &[0x28, 0, 0, 0, 0, 4, 0, 0, 1, 0], &[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0]];
    assert_eq!(disk.moved(), expected);
    let (long, len) = read_or_write(true, false, 1 << 32, 65_536);
    assert_eq!((long, len), ([0x8a, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], 16));
    assert_eq!(read_or_write(false, false, 5, 65_536).0[0], 0x88);
}

#[test]
fn several_operations_are_under_way_at_once_and_ring() {
    let disk = Arc::new(Disk::new());
    let mut sg = engine(&disk);
    for n in 0..4 {
        sg.submit(
            Tag(n),
            Operation::Write { lba: u64::from(n), buffer: filled(u8::try_from(n).unwrap(), 1), fua: false },
        );
    }
    let mut tags: Vec<_> = (0..4).map(|_| ended(&mut sg).tag.0).collect();
    tags.sort_unstable();
    assert_eq!(tags, [0, 1, 2, 3]);
    assert!(sg.fall_asleep().is_some_and(|sleep| sleep.on.is_some()), "nothing is left");
    sg.submit(Tag(9), Operation::Flush);
    ended(&mut sg);
    assert_eq!(disk.blocks.lock().unwrap()[3 * 512], 3);
}

#[test]
fn a_unit_attention_is_no_error_and_others_are_told_apart() {
    let disk = Arc::new(Disk { attentions: AtomicU64::new(2), long: false, ..Disk::new() });
    let mut sg = engine(&disk);
    assert_eq!(sg.shape().blocks, 64, "READ CAPACITY (10), after two attentions");
    disk.attentions.store(1, SeqCst);
    sg.submit(Tag(0), Operation::Read { lba: 0, buffer: filled(0, 1) });
    assert!(ended(&mut sg).result.is_ok());
    assert_eq!(disk.moved().len(), 2, "sent again");
    for (fails, host, expected) in [
        (Some((2, 3)), 0, "MEDIUM ERROR, "),
        (Some((2, 5)), 0, "ILLEGAL REQUEST, "),
        (Some((2, 7)), 0, "DATA PROTECT, "),
        (Some((0x18, 0)), 0, "RESERVATION CONFLICT"),
        (None, 1, "DID_NO_CONNECT: "),
    ] {
        let disk = Arc::new(Disk { fails, host, ..Disk::new() });
        let mut sg = engine(&disk);
        sg.submit(Tag(0), Operation::Write { lba: 0, buffer: filled(1, 1), fua: false });
        let completion = ended(&mut sg);
        let why = completion.result.unwrap_err().to_string();
        assert!(why.starts_with(expected), "{why}");
        assert!(completion.buffer.is_some());
    }
    let disk = Arc::new(Disk { attentions: AtomicU64::new(u64::MAX), ..Disk::new() });
    assert!(Sg::new(|| Ok(disk.clone()), None, "mock".into(), 1).is_err_and(|why| why.contains("unit attentions")));
}

/// The data was meant for the disk that was opened.
#[test]
fn news_of_what_may_be_another_disk_end_an_operation() {
    for news in [asc::LUNS_CHANGED, asc::INQUIRY_CHANGED, asc::RESET] {
        let disk = Arc::new(Disk { attentions: AtomicU64::new(1), news, ..Disk::new() });
        let mut sg = engine(&disk);
        let mut write = || {
            disk.attentions.store(1, SeqCst);
            sg.submit(Tag(0), Operation::Write { lba: 0, buffer: filled(1, 1), fua: false });
            ended(&mut sg).result
        };
        assert!(write().is_ok(), "it has the same name");
        disk.commands.lock().unwrap().clear();
        disk.blocks.lock().unwrap()[0] = 0;
        *disk.name.lock().unwrap() = Some(2);
        let why = write().unwrap_err().to_string();
        assert!(why.starts_with("UNIT ATTENTION, "), "{why}");
        assert_eq!((disk.moved().len(), disk.blocks.lock().unwrap()[0]), (1, 0), "sent once");
    }
}

/// Result of one read of a disk.
fn read_of(disk: Disk) -> Result<(), String> {
    let mut sg = engine(&Arc::new(disk));
    sg.submit(Tag(0), Operation::Read { lba: 0, buffer: filled(0, 1) });
    ended(&mut sg).result.map_err(|why| why.to_string())
}

/// Regression: CHECK CONDITION with a deferred error that was recovered counted as if this command had been executed.
#[test]
fn a_deferred_error_says_that_this_command_was_not_done() {
    assert_eq!(read_of(Disk { fails: Some((2, 1)), ..Disk::new() }), Ok(()));
    let why = read_of(Disk { fails: Some((2, 1)), deferred: true, ..Disk::new() }).unwrap_err();
    assert!(why.starts_with("deferred: RECOVERED ERROR"), "{why}");
}

#[test]
fn what_was_not_transferred_is_told() {
    let why = read_of(Disk { residual: 100, ..Disk::new() }).unwrap_err();
    assert_eq!(why, "100 bytes of it were not transferred");
}
