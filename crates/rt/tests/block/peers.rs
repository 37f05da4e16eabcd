//! NBD with other projects' programs: our client with nbdkit and qemu-nbd, our server with nbdinfo, nbdcopy, qemu-img,
//! qemu-io and fio. Programs that are not installed are skipped, with a report.

use super::file::file;
use super::model::{BOUND, Dice, against_model, one, read, write};
use super::nbd::{Serving, connect};
use linerate_block::{Backend, BackendError, Buffer, Operation};
use linerate_nbd::ClientOptions;
use linerate_rt::block::Device;
use linerate_rt::block::nbd::{NbdBackend, NbdUri};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn installed(program: &str) -> bool {
    let found = linerate_skip::is_installed(program);
    if !found {
        linerate_skip::skip!("{program} is not installed");
    }
    found
}

/// True if a server on this socket sends a greeting.
fn greets(socket: &Path) -> bool {
    let greeting = || {
        let mut stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(BOUND)).ok()?;
        let mut magic = [0; 8];
        stream.read_exact(&mut magic).ok()?;
        Some(&magic == b"NBDMAGIC")
    };
    greeting() == Some(true)
}

/// Another project's server, which ends when this value is dropped.
struct Server {
    child: Child,
    dir: TempDir,
}

impl Server {
    /// Runs a program that listens on the UNIX socket it is given; None if it is not installed.
    fn start(program: &str, args: impl FnOnce(&Path) -> Vec<String>) -> Option<Self> {
        if !installed(program) {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let mut child = Command::new(program).args(args(&socket)).spawn().unwrap();
        let until = Instant::now() + BOUND;
        // The socket file exists before the program listens, and some listen before they serve.
        while !greets(&socket) {
            assert!(child.try_wait().unwrap().is_none() && Instant::now() < until, "{program} does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(Self { child, dir })
    }

    fn nbdkit(args: &[&str]) -> Option<Self> {
        Self::start("nbdkit", |socket| {
            let first = ["-f", "-U", socket.to_str().unwrap()].map(str::to_owned);
            first.into_iter().chain(args.iter().map(|arg| (*arg).to_owned())).collect()
        })
    }

    fn uri(&self, export: &str) -> String {
        format!("nbd+unix:///{export}?socket={}", self.dir.path().join("s").display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn nbdkit_in_all_its_moods_is_a_device() {
    for args in [
        &["memory", "1M"][..],
        &["--no-sr", "memory", "1M"],
        &["--filter=nozero", "--filter=nofilter", "memory", "1M"],
        &["--filter=fua", "memory", "1M", "fuamode=force"],
        &[
            "--filter=blocksize-policy",
            "memory",
            "1M",
            "blocksize-minimum=4096",
            "blocksize-maximum=64K",
            "blocksize-preferred=4096",
            "blocksize-error-policy=error",
        ],
        &["--filter=delay", "memory", "1M", "rdelay=1ms", "wdelay=1ms"],
    ] {
        let Some(server) = Server::nbdkit(args) else { return };
        let mut client = connect(&server.uri(""));
        println!("{args:?}: {}, {:?}", client.path(), client.geometry());
        assert_eq!(u64::from(client.geometry().block_size) * client.geometry().blocks, 1 << 20);
        against_model(&mut client, 77, 40);
    }
}

#[test]
fn errors_of_a_server_are_errors_of_the_operation() {
    let Some(server) = Server::nbdkit(&["--filter=error", "memory", "1M", "error=ENOSPC", "error-pwrite-rate=100%"])
    else {
        return;
    };
    let mut client = connect(&server.uri(""));
    let operation = Operation::Write { lba: 0, buffer: Buffer::new(512), fua: false };
    assert_eq!(one(&mut client, operation).result, Err(BackendError::NoSpace));
    assert_eq!(read(&mut client, 0, 512), [0; 512]);
    drop(server);
    let Some(server) = Server::nbdkit(&["--filter=error", "memory", "1M", "error=EIO", "error-pread-rate=100%"]) else {
        return;
    };
    let mut client = connect(&server.uri(""));
    let operation = Operation::Read { lba: 0, buffer: Buffer::new(65536) };
    assert_eq!(one(&mut client, operation).result, Err(BackendError::Medium));
    write(&mut client, 0, &[1; 512], true);
}

#[test]
fn a_read_only_server_and_one_of_the_old_days() {
    let Some(server) = Server::nbdkit(&["-r", "memory", "1M"]) else { return };
    let mut client = connect(&server.uri(""));
    assert!(client.geometry().read_only && !client.geometry().discards);
    assert_eq!(one(&mut client, Operation::Discard { lba: 0, blocks: 1 }).result, Err(BackendError::ReadOnly));
    let Some(server) = Server::nbdkit(&["-o", "memory", "1M"]) else { return };
    let uri = NbdUri::parse(&server.uri("")).unwrap();
    let line = NbdBackend::open(&uri, ClientOptions::default()).err().unwrap().to_string();
    assert!(line.contains("oldstyle") && line.contains("; "), "{line}");
}

#[test]
fn qemu_nbd_is_a_device_holes_and_all() {
    let disk = file(4 << 20);
    // A read across it is answered in pieces: data and holes.
    std::os::unix::fs::FileExt::write_all_at(disk.as_file(), &[7; 65536], 1 << 20).unwrap();
    let path = disk.path().to_str().unwrap().to_owned();
    let Some(server) = Server::start("qemu-nbd", |socket| {
        let socket = socket.to_str().unwrap();
        ["-t", "-e", "4", "-f", "raw", "-x", "disk", "--discard=unmap", "-k", socket, &path].map(str::to_owned).into()
    }) else {
        return;
    };
    let mut client = connect(&server.uri("disk"));
    println!("{}, {:?}", client.path(), client.geometry());
    let bytes = read(&mut client, 0, 4 << 20);
    let is_data = |at: usize| (1 << 20..(1 << 20) + 65536).contains(&at);
    assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == if is_data(at) { 7 } else { 0 }));
    against_model(&mut client, 99, 40);
    assert_eq!(one(&mut client, Operation::Flush).result, Ok(()));
    drop(client);
    let mut second = connect(&server.uri("disk"));
    let bytes = read(&mut second, 0, 4 << 20);
    assert!(bytes == std::fs::read(disk.path()).unwrap());
}

/// Runs a program, which must succeed; returns its output.
fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new("timeout").arg("60").arg(program).args(args).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {args:?}: {said}");
    said
}

/// A file of random bytes.
fn random(dir: &Path, len: usize) -> PathBuf {
    let (path, mut dice) = (dir.join("random"), Dice(4711));
    let bytes: Vec<u8> = (0..len / 8).flat_map(|_| dice.next().to_le_bytes()).collect();
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn nbdinfo_and_nbdcopy_find_what_the_server_has() {
    if !installed("nbdinfo") || !installed("nbdcopy") {
        return;
    }
    let serving = Serving::new(8 << 20, 512);
    let list = run("nbdinfo", &["--list", "--json", &serving.uri("")]);
    for part in [
        "\"protocol\": \"newstyle-fixed\"",
        "\"structured\": true",
        "\"export-name\": \"disk\"",
        "\"export-size\": 8388608",
        "\"can_multi_conn\": true",
        "\"can_fua\": true",
        "\"can_flush\": true",
        "\"can_trim\": true",
        "\"can_zero\": true",
        "\"is_read_only\": false",
        "\"block_size_minimum\": 512",
    ] {
        assert!(list.contains(part), "no {part} in {list}");
    }
    assert_eq!(run("nbdinfo", &["--size", &serving.tcp_uri()]).trim(), "8388608");
    let random = random(serving.dir.path(), 8 << 20);
    run("nbdcopy", &["--flush", random.to_str().unwrap(), &serving.uri("disk")]);
    assert!(std::fs::read(serving.file.path()).unwrap() == std::fs::read(&random).unwrap());
    let back = serving.dir.path().join("back");
    run("nbdcopy", &[&serving.uri("disk"), back.to_str().unwrap()]);
    assert!(std::fs::read(&back).unwrap() == std::fs::read(&random).unwrap());
}

#[test]
fn qemu_img_and_qemu_io_work_with_the_server() {
    if !installed("qemu-img") || !installed("qemu-io") {
        return;
    }
    let serving = Serving::new(8 << 20, 4096);
    let uri = serving.uri("disk");
    let random = random(serving.dir.path(), 8 << 20);
    let random = random.to_str().unwrap();
    run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", random, &uri]);
    let said = run("qemu-img", &["compare", "-f", "raw", "-F", "raw", random, &uri]);
    assert!(said.contains("identical"), "{said}");
    let commands = [
        "write -P 0xab 0 1M",
        "write -z 64k 64k",
        "write -f -P 0xcd 4k 4k",
        "discard 512k 64k",
        "flush",
        "read -P 0xab 0 4k",
        "read -P 0xcd 4k 4k",
        "read -P 0 64k 64k",
        "aio_read -P 0 512k 64k",
        "aio_flush",
    ];
    let args: Vec<&str> =
        ["-f", "raw"].into_iter().chain(commands.iter().flat_map(|c| ["-c", *c])).chain([&*uri]).collect();
    let said = run("qemu-io", &args);
    assert!(!said.contains("failed"), "{said}");
    let bytes = std::fs::read(serving.file.path()).unwrap();
    assert!(bytes[..4096].iter().all(|o| *o == 0xab) && bytes[4096..8192].iter().all(|o| *o == 0xcd));
    assert!(bytes[65536..131_072].iter().all(|o| *o == 0));
}

#[test]
fn fio_verifies_what_the_server_keeps() {
    if !installed("fio") || !run("fio", &["--enghelp"]).contains("nbd") {
        linerate_skip::skip!("fio has no nbd engine");
        return;
    }
    let serving = Serving::new(8 << 20, 512);
    let uri = format!("--uri={}", serving.uri("disk"));
    let said = run(
        "fio",
        &[
            "--name=verify",
            "--ioengine=nbd",
            &uri,
            "--rw=randrw",
            "--bsrange=512-64k",
            "--size=8M",
            "--iodepth=16",
            "--verify=crc32c",
            "--verify_state_save=0",
            "--do_verify=1",
            "--verify_fatal=1",
            "--randrepeat=1",
            "--blockalign=512",
        ],
    );
    assert!(said.contains("err= 0"), "{said}");
}

#[test]
fn a_server_that_dies_under_load_ends_all() {
    let Some(server) = Server::nbdkit(&["--filter=delay", "memory", "1M", "rdelay=30"]) else { return };
    let mut client = connect(&server.uri(""));
    for i in 0..200 {
        client.submit(linerate_block::Tag(i), Operation::Read { lba: 0, buffer: Buffer::new(4096) });
    }
    client.flush();
    drop(server);
    for _ in 0..200 {
        assert_eq!(super::model::wait(&mut client).result, Err(BackendError::NotReady));
    }
}
