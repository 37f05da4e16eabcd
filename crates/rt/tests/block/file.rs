//! Tests of files: every operation, with the page cache and bypassing it.

use super::model::{against_model, one, read, wait, write};
use linerate_block::{Backend, BackendError, Buffer, Extent, Operation, Tag};
use linerate_rt::block::{Device, FileBackend, FileOptions, Protected, ProtectedOptions};
use linerate_rt::{Machine, Progress, Sleeper, Stop, WaitMode, Waiter, run};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use tempfile::NamedTempFile;

/// A file of `len` bytes on a real file system.
pub(crate) fn file(len: u64) -> NamedTempFile {
    let file = NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(len).unwrap();
    file
}

pub(crate) fn open(path: &Path, block_size: u32, direct: bool) -> FileBackend {
    FileBackend::open(path, &FileOptions { read_only: false, block_size, direct }).unwrap()
}

#[test]
fn random_operations_do_what_a_model_does() {
    for (block_size, direct) in [(512, true), (512, false), (4096, true), (4096, false)] {
        let file = file(1 << 20);
        let mut backend = open(file.path(), block_size, direct);
        assert!(!backend.is_direct() || direct);
        let path = if backend.is_direct() { "io_uring, O_DIRECT" } else { "io_uring, page cache" };
        assert_eq!(backend.path(), path);
        for seed in 1..4 {
            against_model(&mut backend, seed * 0x9e37_79b9 + u64::from(block_size), 60);
        }
    }
}

#[test]
fn protection_information_stays_with_its_block() {
    for block_size in [512, 4096] {
        let file = file(1 << 20);
        let side = Protected::<FileBackend>::side_of(file.path());
        let options = ProtectedOptions { kind: 1, makes: true, adopts: false };
        let mut device = Protected::open(open(file.path(), block_size, true), file.path(), &options).unwrap();
        assert!(device.geometry().protection && device.path().contains("a new side file"));
        let stride = usize::try_from(block_size).unwrap() + 8;
        assert_eq!(device.extent(3), Extent { blocks: device.geometry().blocks - 3, deallocated: true });
        let fresh = read(&mut device, 3, 2 * stride);
        assert_eq!(fresh[stride - 8..stride], [0xff; 8], "what was never written is not checked");
        against_model(&mut device, 0xd1f, 60);
        let before = read(&mut device, 0, 10 * stride);
        assert_eq!(one(&mut device, Operation::Flush).result, Ok(()));
        drop(device);
        let read_only = FileOptions { read_only: true, block_size, direct: true };
        let reopened = FileBackend::open(file.path(), &read_only).unwrap();
        let mut device = Protected::open(reopened, file.path(), &options).unwrap();
        assert!(read(&mut device, 0, 10 * stride) == before, "it outlives the program");
        drop(device);
        std::fs::remove_file(&side).unwrap();
        let reopened = FileBackend::open(file.path(), &read_only).unwrap();
        let line = Protected::open(reopened, file.path(), &options).err().unwrap().to_string();
        assert!(line.contains("; "), "{line}");
    }
}

#[test]
fn memory_file_systems_are_told_of_as_they_are() {
    let Ok(file) = NamedTempFile::new_in("/dev/shm") else {
        linerate_skip::skip!("no /dev/shm");
        return;
    };
    file.as_file().set_len(1 << 20).unwrap();
    let mut backend = open(file.path(), 512, true);
    println!("{}", backend.path());
    against_model(&mut backend, 5, 30);
}

#[test]
fn more_operations_than_the_ring_holds_wait_their_turn() {
    let file = file(4 << 20);
    let mut backend = open(file.path(), 512, true);
    let n: u32 = 2000;
    for i in 0..n {
        let mut buffer = Buffer::new(512);
        buffer.bytes_mut().fill(u8::try_from(i % 251).unwrap());
        backend.submit(Tag(i), Operation::Write { lba: u64::from(i), buffer, fua: false });
    }
    let mut ended: Vec<u32> = (0..n).map(|_| wait(&mut backend).tag.0).collect();
    ended.sort_unstable();
    assert!(ended.into_iter().eq(0..n), "each one ends once");
    let bytes = read(&mut backend, 0, 512 * n as usize);
    assert!(bytes.chunks(512).zip(0..n).all(|(block, i)| block.iter().all(|o| u32::from(*o) == i % 251)));
}

#[test]
fn a_dropped_backend_has_ended_its_writes() {
    let file = file(1 << 20);
    let mut backend = open(file.path(), 512, true);
    for i in 0..64 {
        let mut buffer = Buffer::new(16384);
        buffer.bytes_mut().fill(0xa5);
        backend.submit(Tag(i), Operation::Write { lba: u64::from(i) * 32, buffer, fua: true });
    }
    backend.flush();
    drop(backend);
    let bytes = std::fs::read(file.path()).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0xa5));
}

#[test]
fn blocks_given_back_take_no_space_and_read_as_zeros() {
    let file = file(1 << 20);
    let mut backend = open(file.path(), 4096, true);
    write(&mut backend, 0, &[1; 1 << 20], true);
    let full = file.as_file().metadata().unwrap().blocks();
    assert_eq!(one(&mut backend, Operation::Discard { lba: 0, blocks: 256 }).result, Ok(()));
    let operation = Operation::WriteZeroes { lba: 0, blocks: 1, discard: false, fua: true };
    assert_eq!(one(&mut backend, operation).result, Ok(()));
    assert!(read(&mut backend, 0, 1 << 20).iter().all(|byte| *byte == 0));
    assert!(file.as_file().metadata().unwrap().blocks() < full);
}

#[test]
fn holes_are_deallocated() {
    let deallocated = |blocks| Extent { blocks, deallocated: true };
    let mapped = |blocks| Extent { blocks, deallocated: false };
    for direct in [true, false] {
        let file = file(1 << 20);
        let mut backend = open(file.path(), 4096, direct);
        assert_eq!(backend.extent(3), deallocated(253));
        write(&mut backend, 16, &[1; 4 * 4096], false);
        let found: Vec<_> = [0, 15, 16, 17, 20].into_iter().map(|lba| backend.extent(lba)).collect();
        assert_eq!(found, [deallocated(16), deallocated(1), mapped(4), mapped(3), deallocated(236)]);
        assert_eq!(one(&mut backend, Operation::Discard { lba: 16, blocks: 2 }).result, Ok(()));
        assert_eq!((backend.extent(0), backend.extent(19)), (deallocated(18), mapped(1)));
        let operation = Operation::WriteZeroes { lba: 0, blocks: 256, discard: true, fua: false };
        assert_eq!(one(&mut backend, operation).result, Ok(()));
        assert_eq!(backend.extent(0), deallocated(256));
        // Blocks beside a smaller one are not in a hole either.
        drop(backend);
        let mut backend = open(file.path(), 512, false);
        write(&mut backend, 131, &[1; 512], false);
        assert!(!backend.extent(131).deallocated && backend.extent(2047) == deallocated(1));
        let near = backend.extent(0);
        assert!(near.deallocated && (1..=131).contains(&near.blocks), "{near:?}");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let file = file(1 << 20);
    let options = FileOptions { read_only: true, ..FileOptions::default() };
    let mut backend = FileBackend::open(file.path(), &options).unwrap();
    assert!(backend.geometry().read_only && !backend.geometry().discards);
    let write = Operation::Write { lba: 0, buffer: Buffer::new(512), fua: false };
    assert_eq!(one(&mut backend, write).result, Err(BackendError::ReadOnly));
    assert_eq!(one(&mut backend, Operation::Discard { lba: 0, blocks: 1 }).result, Err(BackendError::ReadOnly));
    assert_eq!(one(&mut backend, Operation::Flush).result, Ok(()));
    file.as_file().set_len(512).unwrap();
    let beyond = Operation::Read { lba: 0, buffer: Buffer::new(4096) };
    assert_eq!(one(&mut backend, beyond).result, Err(BackendError::Medium), "the file has become shorter");
    let nowhere = Operation::Read { lba: u64::MAX, buffer: Buffer::new(512) };
    assert_eq!(one(&mut backend, nowhere).result, Err(BackendError::Medium));
}

/// A block device over a file, which is detached when this value is dropped.
struct Loop(String);

impl Loop {
    fn over(path: &Path, sector: u32) -> Option<Self> {
        let sector = sector.to_string();
        let made = Command::new("losetup").args(["--find", "--show", "--sector-size", &sector]).arg(path).output();
        let Some(output) = made.ok().filter(|output| output.status.success()) else {
            linerate_skip::skip!("not permitted to make a loop device");
            return None;
        };
        Some(Self(String::from_utf8(output.stdout).unwrap().trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let down = Command::new("losetup").args(["--detach", &self.0]).status();
        assert!(down.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

#[test]
fn block_devices_are_taken_exclusively_and_their_sectors_respected() {
    for (sector, block_size, direct) in [(512, 512, true), (4096, 4096, true), (4096, 512, false)] {
        let file = file(1 << 20);
        let Some(device) = Loop::over(file.path(), sector) else { return };
        let mut backend = open(Path::new(&device.0), block_size, true);
        assert_eq!(backend.is_direct(), direct, "sectors of {sector}, blocks of {block_size}");
        assert_eq!(backend.geometry().blocks, (1 << 20) / u64::from(block_size));
        against_model(&mut backend, 0x100b, 60);
        let rest = Extent { blocks: backend.geometry().blocks - 1, deallocated: false };
        assert_eq!(backend.extent(1), rest, "the kernel does not tell");
        let line = FileBackend::open(Path::new(&device.0), &FileOptions::default()).err().unwrap().to_string();
        assert!(line.contains("in use"), "{line}");
        drop(backend);
    }
}

/// Regression: a loop device had its name from its path, and so another file behind it was taken for the same disk.
#[test]
fn a_loop_device_is_told_by_the_file_behind_it() {
    let (first, second) = (file(1 << 20), file(1 << 20));
    let serial = |device: &Loop| open(Path::new(&device.0), 512, true).geometry().serial;
    let Some(device) = Loop::over(first.path(), 512) else { return };
    let known = serial(&device);
    let Some(other) = Loop::over(second.path(), 512) else { return };
    drop(device);
    let again = (serial(&other), Loop::over(first.path(), 512).map(|device| serial(&device)));
    assert!(again.0 != known && again.1 == Some(known));
    drop(other);
    // Whichever of the two loop devices it is now.
    let Some(swapped) = Loop::over(second.path(), 512) else { return };
    assert_eq!(serial(&swapped), again.0);
}

/// A limit on this process's file sizes would affect other tests; a small file system for this test does not.
#[test]
fn a_full_disk_is_no_space() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=256k", "none"]).arg(dir.path()).status();
    if !mounted.is_ok_and(|status| status.success()) {
        linerate_skip::skip!("not permitted to mount");
        return;
    }
    let path = dir.path().join("disk");
    std::fs::File::create(&path).unwrap().set_len(1 << 20).unwrap();
    let mut backend = open(&path, 512, true);
    let write = Operation::Write { lba: 0, buffer: Buffer::new(1 << 20), fua: false };
    let result = one(&mut backend, write).result;
    drop(backend);
    assert_eq!(result, Err(BackendError::NoSpace));
    // The kernel closes a ring's files some time after the ring.
    let unmount = || Command::new("umount").arg(dir.path()).status().is_ok_and(|status| status.success());
    let unmounted = (0..600).any(|_| {
        unmount() || {
            std::thread::sleep(std::time::Duration::from_millis(100));
            false
        }
    });
    assert!(unmounted);
}

#[test]
fn what_cannot_be_opened_is_named_with_its_mend() {
    let empty = file(100);
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("none");
    let busy = file(4096);
    let holder = open(busy.path(), 512, true);
    for (path, word) in [
        (empty.path(), "not one block"),
        (dir.path(), "no regular file"),
        (&missing, "not there"),
        (Path::new("/dev/null"), "no regular file"),
        (busy.path(), "in use"),
    ] {
        let line = FileBackend::open(path, &FileOptions::default()).err().unwrap().to_string();
        assert!(line.contains(word) && line.contains("; ") && !line.contains('\n'), "{line}");
    }
    drop(holder);
    assert_eq!(open(busy.path(), 512, true).geometry().blocks, 8);
}

/// Regression: up to a block less a byte at a file's end was left out of its LUN, and nothing said so.
#[test]
fn a_file_that_is_no_number_of_blocks_is_refused_and_a_device_says_what_is_left_out() {
    let odd = file(4096 * 2 + 3584);
    let named = odd.path().display();
    for read_only in [false, true] {
        let options = FileOptions { read_only, block_size: 4096, direct: true };
        let line = FileBackend::open(odd.path(), &options).err().expect("3584 bytes are beyond the last block");
        let expected = format!(
            "{named}: its size, 11776 bytes, is no number of blocks of 4096; make it larger: truncate -s 12288 {named}"
        );
        assert_eq!(line.to_string(), expected);
    }
    assert_eq!(open(odd.path(), 512, true).geometry().blocks, 23, "of smaller blocks it is a number");
    // The mend, as it is printed.
    odd.as_file().set_len(12288).unwrap();
    assert_eq!(open(odd.path(), 4096, true).geometry().blocks, 3);

    odd.as_file().set_len(11776).unwrap();
    let Some(device) = Loop::over(odd.path(), 512) else { return };
    let device = open(Path::new(&device.0), 4096, false);
    assert_eq!(
        (device.geometry().blocks, device.path().as_str()),
        (2, "io_uring, page cache, without its last 3584 bytes")
    );
}

/// Writes one block after the other to stable storage, in a thread that sleeps in between.
struct Writer {
    backend: FileBackend,
    left: u32,
    asked: bool,
}

impl Machine for Writer {
    fn handle(&mut self, _: u64) -> Progress {
        if let Some(completion) = self.backend.complete() {
            assert_eq!(completion.result, Ok(()));
            (self.left, self.asked) = (self.left - 1, false);
        }
        if self.left == 0 {
            return Progress::Done;
        }
        if self.asked {
            return Progress::Idle;
        }
        self.asked = true;
        self.backend.submit(Tag(0), Operation::Write { lba: self.left.into(), buffer: Buffer::new(512), fua: true });
        self.backend.flush();
        Progress::Worked
    }

    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.backend.waits_for(visit);
    }

    fn stop(&mut self, _: u64) {
        self.left = 0;
    }
}

#[test]
fn a_sleeping_thread_is_woken_by_what_has_ended() {
    let file = file(1 << 20);
    for mode in [WaitMode::Sleep, WaitMode::Adaptive] {
        let mut writer = Writer { backend: open(file.path(), 512, true), left: 100, asked: false };
        let stats = run(&mut writer, &mut Waiter::new(mode), &Stop::new().unwrap());
        assert_eq!(writer.left, 0);
        assert!(mode == WaitMode::Adaptive || stats.sleeps > 0, "{stats:?}");
    }
}
