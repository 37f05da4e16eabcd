//! netmap's descriptors among the program's, by number. Looking one up takes no lock and allocates nothing: every poll and
//! every close of the program does.
//!
//! Orderings: a descriptor's number is stored with Release (`put`, `epoll_of`) and loaded with Acquire (`entry`, `epoll`, `copy`), so
//! whoever finds one sees the file that was begun before. An entry's count ends with AcqRel in `close` and its 0 is stored with
//! Release behind the file's end; `open` takes a 0 with AcqRel, and so sees that end. The number of open ones is a hint.
//!
//! Entries are never freed and serve again, so a thread that looks one up while another closes it finds an open file, or
//! another one, as with any descriptor.

use crate::file::File;
use crate::members::Members;
use crate::parents::{self, what};
use crate::sys::process::generation;
use crate::sys::real;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicUsize, Ordering::*};

/// Most open files.
const FILES: usize = 4096;
/// Numbers of descriptors that can be netmap's.
const NUMBERS: usize = LAST as usize + 1;
const LAST: c_int = 65535;

struct Entry {
    /// Descriptors of it; 0 if the entry is free.
    descriptors: AtomicU32,
    file: File,
}

static ENTRIES: [Entry; FILES] = [const { Entry { descriptors: AtomicU32::new(0), file: File::new() } }; FILES];
/// epoll descriptors with members of netmap's.
static EPOLLS: [Members; 256] = [const { Members::new() }; 256];
/// One more than the entry of a descriptor, those of epoll behind the files; 0 for a descriptor that is not netmap's.
static OF: [AtomicU16; NUMBERS] = [const { AtomicU16::new(0) }; NUMBERS];
/// Entry of a descriptor that is being closed.
const CLOSING: u16 = u16::MAX;
/// Descriptors of an entry whose file is being ended.
const ENDING: u32 = u32::MAX;
/// Descriptors in use.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// True if a descriptor may be netmap's: if not, nothing need be looked at.
pub(crate) fn any() -> bool {
    OPEN.load(Relaxed) > 0
}

/// The open file of a descriptor; None if it is not netmap's.
pub(crate) fn file(fd: c_int) -> Option<&'static File> {
    entry(fd).map(|entry| &entry.file)
}

fn entry(fd: c_int) -> Option<&'static Entry> {
    ENTRIES.get(usize::from(number(fd)?.load(Acquire)).checked_sub(1)?)
}

/// The members that an epoll descriptor has of netmap's; None if it never had any.
pub(crate) fn epoll(fd: c_int) -> Option<&'static Members> {
    let at = usize::from(number(fd)?.load(Acquire)).checked_sub(FILES + 1)?;
    EPOLLS.get(at).filter(|epoll| !epoll.is_foreign())
}

/// The members of an epoll descriptor, none at first; None if there are too many such descriptors.
pub(crate) fn epoll_of(fd: c_int) -> Option<&'static Members> {
    if let Some(epoll) = epoll(fd) {
        return Some(epoll);
    }
    let (of, at) = (number(fd)?, EPOLLS.iter().position(Members::begin)?);
    let entry = u16::try_from(FILES + 1 + at).ok()?;
    // What is there may be a parent's.
    if of.swap(entry, AcqRel) == 0 {
        OPEN.fetch_add(1, Relaxed);
    }
    Some(&EPOLLS[at])
}

fn put(fd: c_int, entry: usize) {
    if let (Some(of), Ok(entry)) = (number(fd), u16::try_from(entry + 1)) {
        of.store(entry, Release);
        OPEN.fetch_add(1, Relaxed);
    }
}

/// True if a descriptor of this number can be netmap's.
pub(crate) fn fits(fd: c_int) -> bool {
    usize::try_from(fd).is_ok_and(|fd| fd < NUMBERS)
}

/// Makes a descriptor, for which [`fits`] holds, a new open file's; false if there are too many.
pub(crate) fn open(fd: c_int) -> bool {
    let free = ENTRIES.iter().position(|entry| entry.descriptors.compare_exchange(0, 1, AcqRel, Relaxed).is_ok());
    let Some(at) = free else { return false };
    ENTRIES[at].file.begin(generation());
    put(fd, at);
    true
}

/// Makes a descriptor, for which [`fits`] holds, another one's copy.
pub(crate) fn copy(from: c_int, to: c_int) {
    let at = number(from).and_then(|of| usize::from(of.load(Acquire)).checked_sub(1));
    if let Some((at, entry)) = at.and_then(|at| Some((at, ENTRIES.get(at)?))) {
        entry.descriptors.fetch_add(1, Relaxed);
        put(to, at);
    }
}

/// True for a descriptor whose close is to be noticed.
pub(crate) fn is_known(fd: c_int) -> bool {
    file(fd).is_some() || epoll(fd).is_some()
}

/// True for a descriptor of netmap's that is being closed: who sleeps on it was woken, and the kernel still knows its number.
pub(crate) fn is_closing(fd: c_int) -> bool {
    number(fd).is_some_and(|of| of.load(Acquire) == CLOSING)
}

/// Takes note that a descriptor was closed.
pub(crate) fn closed(fd: c_int) {
    // Another thread may have got the number for a new one already.
    let _ = number(fd).map(|of| of.compare_exchange(CLOSING, 0, AcqRel, Relaxed));
}

fn number(fd: c_int) -> Option<&'static AtomicU16> {
    OF.get(usize::try_from(fd).ok()?)
}

/// Forgets a descriptor that is about to be closed, wakes who sleeps on it, and ends its open file with its last descriptor.
/// [`closed`] comes behind it.
pub(crate) fn close(fd: c_int) {
    let Some(of) = number(fd) else { return };
    let was = of.load(Acquire);
    // Of two threads that close one descriptor, one does.
    if was == 0 || was == CLOSING || of.compare_exchange(was, CLOSING, AcqRel, Relaxed).is_err() {
        return;
    }
    let at = usize::from(was) - 1;
    OPEN.fetch_sub(1, Relaxed);
    let Some(entry) = ENTRIES.get(at) else {
        return EPOLLS.get(at - FILES).filter(|epoll| !epoll.is_foreign()).into_iter().for_each(Members::end);
    };
    if entry.file.is_foreign() {
        // The parent's: it has what is here a copy, and perhaps a lock of it that nobody will open here. The entry serves no more.
        if entry.is_last() {
            let _ = parents::call(&entry.file, what::CLOSE, 0, None);
        }
        return;
    }
    real::ring(fd);
    entry.less();
}

impl Entry {
    /// Takes one descriptor off; true for the last one, behind which the entry is kept from others.
    fn is_last(&self) -> bool {
        let less = |n| Some(if n == 1 { ENDING } else { n - 1 });
        self.descriptors.fetch_update(AcqRel, Acquire, less) == Ok(1)
    }

    /// Takes one descriptor off. The last one's file is ended before the entry is free for another.
    fn less(&self) {
        if self.is_last() {
            self.file.end();
            self.descriptors.store(0, Release);
        }
    }
}

/// An open file that is held as by one more descriptor: by another process.
pub(crate) struct Held(&'static Entry);

impl Held {
    pub(crate) fn file(&self) -> &'static File {
        &self.0.file
    }
}

impl Clone for Held {
    fn clone(&self) -> Self {
        self.0.descriptors.fetch_add(1, Relaxed);
        Self(self.0)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.less();
    }
}

/// Holds all files that this process itself has open.
pub(crate) fn hold_all() -> Vec<Held> {
    let more = |n| (n != 0 && n != ENDING).then(|| n + 1);
    let held =
        |entry: &&Entry| !entry.file.is_foreign() && entry.descriptors.fetch_update(AcqRel, Acquire, more).is_ok();
    ENTRIES.iter().filter(held).map(Held).collect()
}

/// In a child of fork: counts its own descriptors of each open file. Others have some, too.
pub(crate) fn recount() {
    let mut counts = [0; FILES];
    for of in &OF {
        // Whoever closed it is not here.
        let _ = of.compare_exchange(CLOSING, 0, Relaxed, Relaxed);
        if let Some(n) = usize::from(of.load(Relaxed)).checked_sub(1).and_then(|at| counts.get_mut(at)) {
            *n += 1;
        }
    }
    for (entry, n) in ENTRIES.iter().zip(counts).filter(|(entry, _)| entry.descriptors.load(Relaxed) != 0) {
        entry.descriptors.store(if n == 0 { ENDING } else { n }, Relaxed);
    }
}

/// Closes all descriptors of netmap's.
pub(crate) fn close_all() {
    for fd in (0..=LAST).filter(|fd| is_known(*fd)) {
        close(fd);
        real::close(fd);
        closed(fd);
    }
}

/// Forgets all descriptors from one number to another: they were closed, or are about to be.
pub(crate) fn close_range(first: c_int, last: c_int, done: bool) {
    if done || any() {
        (first.max(0)..=last.min(LAST)).for_each(if done { closed } else { close });
    }
}
