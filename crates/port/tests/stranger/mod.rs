//! Another process that speaks a cable's protocol by hand and owes it nothing. It is written without the library, so
//! that it can say and write what the library would not.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"lr-cable");
pub(crate) const VERSION: u64 = 9;
/// The same for switches.
const SWITCH_VERSION: u64 = 5;

/// The socket of the cable `NAME{1`.
pub(crate) fn path(cable: &str) -> PathBuf {
    directory().join(format!("cable-{cable}#1.sock"))
}

/// The socket of a switch.
pub(crate) fn switch_path(switch: &str) -> PathBuf {
    directory().join(format!("switch-{switch}.sock"))
}

fn directory() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| Path::new(dir).is_absolute()) {
        Some(dir) => PathBuf::from(dir).join("linerate"),
        // SAFETY: no arguments.
        None if unsafe { libc::geteuid() } == 0 && Path::new("/run").is_dir() => PathBuf::from("/run/linerate"),
        // SAFETY: as above.
        None => std::env::temp_dir().join(format!("linerate-{}", unsafe { libc::geteuid() })),
    }
}

pub(crate) fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(crate) fn hello() -> Vec<u8> {
    words(&[MAGIC, VERSION, 0])
}

/// First message to a switch from a port of one queue that asks for no more than its grant.
pub(crate) fn switch_hello(port: &str, slots: u64, buf_size: u64) -> Vec<u8> {
    switch_wish(port, slots, buf_size, 256, "")
}

/// First message to a switch that asks for a pause and VLANs.
pub(crate) fn switch_wish(port: &str, slots: u64, buf_size: u64, pause: u64, vlans: &str) -> Vec<u8> {
    let mut message = words(&[u64::from_le_bytes(*b"lr-vale\0"), SWITCH_VERSION, 1, slots, 1500, buf_size, pause]);
    message.extend(format!("{port},{vlans}").bytes());
    message
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn own(result: libc::c_int) -> OwnedFd {
    let fd = check(result).expect("a descriptor");
    // SAFETY: the descriptor is new.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

pub(crate) fn event() -> OwnedFd {
    // SAFETY: integers.
    own(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) })
}

/// A doorbell: where it is heard, and where it is rung.
pub(crate) fn doorbell() -> [OwnedFd; 2] {
    let (near, far) = std::os::unix::net::UnixDatagram::pair().unwrap();
    [near.into(), far.into()]
}

/// Has the last close of a socket wait so many seconds for data that nobody takes.
pub(crate) fn linger(socket: &impl AsRawFd, seconds: libc::c_int) {
    let value = libc::linger { l_onoff: 1, l_linger: seconds };
    // SAFETY: the value is readable for its length.
    check(unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, (&raw const value).cast(), 8)
    })
    .unwrap();
}

/// Fills a doorbell's queue, and makes the file block whoever writes to it without saying otherwise.
pub(crate) fn fill(bell: &OwnedFd) {
    // SAFETY: integers; no bytes are read.
    unsafe {
        while libc::send(bell.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT) >= 0 {}
        check(libc::fcntl(bell.as_raw_fd(), libc::F_SETFL, 0)).unwrap();
    }
}

/// A TCP connection: an end that nobody reads, and one whose close waits for so many seconds, as it has unsent data.
pub(crate) fn lingering(seconds: libc::c_int) -> (std::net::TcpStream, std::net::TcpStream) {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    linger(&near, seconds);
    near.set_nonblocking(true).unwrap();
    while near.write(&[0; 65536]).is_ok() {}
    (far, near)
}

/// A memory file of so many bytes, sealed or not.
pub(crate) fn memory(len: u64, seals: libc::c_int) -> OwnedFd {
    memory_of(0, len, seals)
}

/// A memory file of reserved pages of 2 MiB, which its seals do not keep.
pub(crate) fn reserved_memory(len: u64) -> OwnedFd {
    memory_of(libc::MFD_HUGETLB, len, SEALS)
}

fn memory_of(kind: libc::c_uint, len: u64, seals: libc::c_int) -> OwnedFd {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING | kind;
    // SAFETY: a C string and integers.
    let fd = own(unsafe { libc::memfd_create(c"stranger".as_ptr(), flags) });
    // SAFETY: integers.
    unsafe {
        check(libc::ftruncate(fd.as_raw_fd(), len.cast_signed())).unwrap();
        check(libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals)).unwrap();
    }
    fd
}

pub(crate) const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

/// A socket of its kind; its patience is ten seconds, so that a test ends.
fn socket() -> OwnedFd {
    // SAFETY: integers, and a timeval that lives.
    unsafe {
        let fd = own(libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0));
        let time = libc::timeval { tv_sec: 10, tv_usec: 0 };
        for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
            check(libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const time).cast(), 16)).unwrap();
        }
        fd
    }
}

/// Two sockets of packets that are each other's peers.
pub(crate) fn packets() -> [OwnedFd; 2] {
    let mut fds = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: room for two descriptors.
    check(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) }).unwrap();
    fds.map(own)
}

fn address(path: &Path) -> (libc::sockaddr_un, u32) {
    // SAFETY: all zeroes is an address.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = 1;
    for (to, from) in address.sun_path.iter_mut().zip(path.to_str().unwrap().bytes()) {
        *to = from.cast_signed();
    }
    (address, u32::try_from(size_of::<libc::sockaddr_un>()).unwrap())
}

pub(crate) fn connect(path: &Path) -> io::Result<OwnedFd> {
    let (fd, (address, len)) = (socket(), address(path));
    // SAFETY: the address lives.
    check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), len) })?;
    Ok(fd)
}

pub(crate) fn listen(path: &Path) -> OwnedFd {
    let (fd, (address, len)) = (socket(), address(path));
    // SAFETY: the address lives.
    unsafe {
        check(libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len)).unwrap();
        check(libc::listen(fd.as_raw_fd(), 16)).unwrap();
    }
    fd
}

/// True if an idle socket has something to read: its end of file.
pub(crate) fn hung_up(socket: &OwnedFd) -> bool {
    let mut entry = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry.
    unsafe { libc::poll(&raw mut entry, 1, 0) == 1 }
}

/// The next that connects, if one does soon.
pub(crate) fn accept(listener: &OwnedFd, patience: Duration) -> Option<OwnedFd> {
    let mut entry = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let ms = i32::try_from(patience.as_millis()).unwrap();
    // SAFETY: one entry.
    let ready = unsafe { libc::poll(&raw mut entry, 1, ms) } == 1;
    // SAFETY: null is allowed.
    ready.then(|| own(unsafe { libc::accept(listener.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut()) }))
}

/// Sends a message; false if that failed: the other side may have hung up.
pub(crate) fn send(socket: &OwnedFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> bool {
    let mut control = [0u64; 128];
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let room = u32::try_from(size_of_val(fds)).unwrap();
    // SAFETY: one readable part, and control memory with room for 250 descriptors, which is aligned.
    unsafe {
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if !fds.is_empty() {
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(room) as _;
            let head = libc::CMSG_FIRSTHDR(&raw const message);
            (*head).cmsg_level = libc::SOL_SOCKET;
            (*head).cmsg_type = libc::SCM_RIGHTS;
            (*head).cmsg_len = libc::CMSG_LEN(room) as _;
            for (i, fd) in fds.iter().enumerate() {
                libc::CMSG_DATA(head).cast::<libc::c_int>().add(i).write_unaligned(fd.as_raw_fd());
            }
        }
        libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) >= 0
    }
}

/// Receives one message; empty if the other side hung up.
pub(crate) fn receive(socket: &OwnedFd) -> (Vec<u8>, Vec<OwnedFd>) {
    let (mut bytes, mut control, mut fds) = (vec![0u8; 20_000], [0u64; 128], Vec::new());
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: one writable part, and aligned control memory; descriptors that come are new.
    unsafe {
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let got = libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC);
        bytes.truncate(usize::try_from(got).unwrap_or(0));
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        if got >= 0 && !head.is_null() {
            let n = ((*head).cmsg_len as usize - libc::CMSG_LEN(0) as usize) / 4;
            for i in 0..n {
                fds.push(OwnedFd::from_raw_fd(libc::CMSG_DATA(head).cast::<libc::c_int>().add(i).read_unaligned()));
            }
        }
    }
    (bytes, fds)
}

/// A region as a stranger maps it: bytes to be written at will.
pub(crate) struct Map {
    base: NonNull<u8>,
    pub(crate) len: usize,
}

// SAFETY: it is reached through atomics only.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    pub(crate) fn new(fd: &OwnedFd, len: usize) -> Self {
        // SAFETY: a new mapping.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        assert_ne!(base, libc::MAP_FAILED);
        Self { base: NonNull::new(base.cast()).unwrap(), len }
    }

    fn u32_at(&self, at: u64) -> &AtomicU32 {
        let at = usize::try_from(at).unwrap();
        assert!(at.is_multiple_of(4) && at + 4 <= self.len);
        // SAFETY: inside the mapping and aligned.
        unsafe { self.base.add(at).cast().as_ref() }
    }

    pub(crate) fn put(&self, at: u64, value: u32) {
        self.u32_at(at).store(value, SeqCst);
    }

    pub(crate) fn see(&self, at: u64) -> u32 {
        self.u32_at(at).load(SeqCst)
    }

    /// All of it, as it is now.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        (0..self.len as u64 / 4).flat_map(|word| self.see(4 * word).to_ne_bytes()).collect()
    }

    pub(crate) fn see_u64(&self, at: u64) -> u64 {
        u64::from(self.see(at)) | u64::from(self.see(at + 4)) << 32
    }

    pub(crate) fn put_u64(&self, at: u64, value: u64) {
        let at = usize::try_from(at).unwrap();
        assert!(at.is_multiple_of(8) && at + 8 <= self.len);
        // SAFETY: inside the mapping and aligned.
        unsafe { self.base.add(at).cast::<AtomicU64>().as_ref() }.store(value, SeqCst);
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody borrows from it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// One direction, as offered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) tx: u64,
    pub(crate) tx_meta: u64,
    pub(crate) rx: u64,
    pub(crate) rx_meta: u64,
    pub(crate) lines: u64,
    pub(crate) first_buf: u32,
}

impl Pair {
    fn new(w: &[u64]) -> Self {
        let first_buf = u32::try_from(w[5]).unwrap();
        Self { tx: w[0], tx_meta: w[1], rx: w[2], rx_meta: w[3], lines: w[4], first_buf }
    }

    pub(crate) fn published(&self) -> u64 {
        self.lines
    }

    pub(crate) fn released(&self) -> u64 {
        self.lines + 128
    }

    pub(crate) fn swaps(&self) -> u64 {
        self.lines + 132
    }

    pub(crate) fn pause(&self) -> u64 {
        self.lines + 136
    }

    pub(crate) fn sleepers(&self) -> [u64; 2] {
        [self.lines + 256, self.lines + 384]
    }

    /// The numbers that the sender tells.
    pub(crate) fn told(&self) -> u64 {
        self.lines + 512
    }

    /// The slot of the sender's ring that a cursor stands for.
    pub(crate) fn sent_slot(&self, cursor: u32) -> u64 {
        self.tx + 256 + u64::from(cursor % 64) * 16
    }

    /// The slot of the receiver's ring that a cursor stands for.
    pub(crate) fn slot(&self, cursor: u32) -> u64 {
        self.rx + 256 + u64::from(cursor % 64) * 16
    }
}

pub(crate) fn slot(buf: u32, len: u16, flags: u16) -> u64 {
    u64::from(buf) | u64::from(len) << 32 | u64::from(flags) << 48
}

/// A joiner of a cable of one queue and 64 slots, at the right end.
pub(crate) struct Joiner {
    pub(crate) socket: OwnedFd,
    pub(crate) map: Map,
    /// From the honest left end to here.
    pub(crate) inward: Pair,
    /// From here to the honest left end.
    pub(crate) outward: Pair,
    pub(crate) buffers: u32,
    /// Offset of buffer 0, and the distance between two buffers.
    pub(crate) area: u64,
    buf_size: u64,
    /// Bells that wake the honest end: of its transmit queue, of its receive queue.
    pub(crate) bells: Vec<OwnedFd>,
    /// The bells that it would sleep on.
    pub(crate) own: Vec<OwnedFd>,
}

/// Sends a hello and reads the offer.
pub(crate) fn offered(path: &Path, hello: &[u8]) -> Option<(OwnedFd, Vec<u64>, OwnedFd)> {
    let socket = connect(path).ok()?;
    send(&socket, hello, &[]);
    let (offer, mut fds) = receive(&socket);
    let offer: Vec<u64> = offer.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    (offer.len() == 10 + 12 + 1).then_some(())?;
    Some((socket, offer, fds.pop()?))
}

impl Joiner {
    /// Joins as it should be done; None if it is not let in (the maker may be busy with the last one).
    pub(crate) fn join(path: &Path) -> Option<Self> {
        Self::join_saying(path, &hello())
    }

    /// Joins with another first message.
    pub(crate) fn join_saying(path: &Path, hello: &[u8]) -> Option<Self> {
        Self::join_writing(path, hello, |_, _, _| ())
    }

    /// The same, with a chance to write to the offered memory (there: inward, outward) before it says that it is ready.
    pub(crate) fn join_writing(path: &Path, hello: &[u8], write: impl FnOnce(&Map, Pair, Pair)) -> Option<Self> {
        let (socket, offer, file) = offered(path, hello)?;
        assert!(offer[3] == 1 && offer[4] >= 64, "one queue; of more slots the first 64 are used");
        let len = usize::try_from(offer[8] + offer[9] * offer[6]).unwrap();
        let map = Map::new(&file, len);
        let (inward, outward) = (Pair::new(&offer[10..16]), Pair::new(&offer[16..22]));
        write(&map, inward, outward);
        send(&socket, b"ready", &[]);
        let mut own = Vec::new();
        while own.len() < 4 {
            let (word, some) = receive(&socket);
            (word == b"bells" && !some.is_empty()).then_some(())?;
            own.extend(some);
        }
        let bells = own.split_off(2);
        let (buffers, area, buf_size) = (u32::try_from(offer[9]).unwrap(), offer[8], offer[6]);
        Some(Self { socket, map, inward, outward, buffers, area, buf_size, bells, own })
    }

    /// Sends a frame as an honest joiner would: no more than the ring has room for.
    pub(crate) fn send(&self, frame: &[u8]) {
        let buf = self.outward.first_buf + self.map.see(self.outward.published()) % 64;
        let at = self.area + u64::from(buf) * self.buf_size + 256;
        for (at, part) in (at..).step_by(8).zip(frame.chunks(8)) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.map.put_u64(at, u64::from_le_bytes(word));
        }
        self.publish(&[slot(buf, u16::try_from(frame.len()).unwrap(), 0)]);
    }

    /// Publishes `n` slots with these words.
    pub(crate) fn publish(&self, slots: &[u64]) {
        let from = self.map.see(self.outward.published());
        let n = u32::try_from(slots.len()).unwrap();
        for (i, word) in (0..n).zip(slots) {
            self.map.put_u64(self.outward.slot(from.wrapping_add(i)), *word);
        }
        self.map.put(self.outward.published(), from.wrapping_add(n));
    }
}

/// A user other than this one.
pub(crate) const NOBODY: u32 = 65534;

/// Runs it in a thread that is another user's but keeps root's way to all files: what stops it is no directory's mode.
/// Sockets take the user of the thread that connects or listens. None: this process may not do that.
pub(crate) fn as_nobody<T: Send>(run: impl FnOnce() -> T + Send) -> Option<T> {
    // SECBIT_NO_SETUID_FIXUP.
    const KEEPS_CAPABILITIES: libc::c_ulong = 1 << 2;
    let thread = || {
        // Both are for this thread alone: the library's setresuid would change all of them.
        // SAFETY: integers.
        let done = unsafe {
            libc::prctl(libc::PR_SET_SECUREBITS, KEEPS_CAPABILITIES) == 0
                && libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) == 0
        };
        done.then(run)
    };
    std::thread::scope(|scope| scope.spawn(thread).join().unwrap())
}
