//! Memory at addresses that the program gave: copied by the kernel, which says EFAULT where a plain access would end the
//! process.

use std::cell::Cell;
use std::ffi::c_int;

thread_local! {
    /// Process whose memory is meant; 0 for this one.
    static WHOSE: Cell<u32> = const { Cell::new(0) };
}

/// Does something for another process: its memory is meant until then.
pub(crate) fn of<T>(process: u32, run: impl FnOnce() -> T) -> T {
    let was = WHOSE.replace(process);
    let done = run();
    WHOSE.set(was);
    done
}

fn whose() -> libc::pid_t {
    match WHOSE.get() {
        // SAFETY: no arguments; never fails.
        0 => unsafe { libc::getpid() },
        other => other.cast_signed(),
    }
}

/// Copies from an address of the program's; EFAULT if it cannot be read.
pub(crate) fn read(from: u64, bytes: &mut [u8]) -> Result<(), c_int> {
    let (ours, theirs) = pair(bytes.as_mut_ptr(), from, bytes.len());
    // SAFETY: `bytes` is ours to write; what is at the other address, the kernel checks.
    let got = unsafe { libc::process_vm_readv(whose(), &raw const ours, 1, &raw const theirs, 1, 0) };
    whole(got, bytes.len())
}

/// Copies to an address of the program's; EFAULT if it cannot be written.
pub(crate) fn write(to: u64, bytes: &[u8]) -> Result<(), c_int> {
    let (ours, theirs) = pair(bytes.as_ptr().cast_mut(), to, bytes.len());
    // SAFETY: `bytes` is only read; what is at the other address, the kernel checks.
    let put = unsafe { libc::process_vm_writev(whose(), &raw const ours, 1, &raw const theirs, 1, 0) };
    whole(put, bytes.len())
}

fn pair(ours: *mut u8, theirs: u64, len: usize) -> (libc::iovec, libc::iovec) {
    let theirs = std::ptr::without_provenance_mut(usize::try_from(theirs).unwrap_or(0));
    (libc::iovec { iov_base: ours.cast(), iov_len: len }, libc::iovec { iov_base: theirs, iov_len: len })
}

fn whole(done: isize, len: usize) -> Result<(), c_int> {
    if usize::try_from(done) == Ok(len) { Ok(()) } else { Err(libc::EFAULT) }
}

/// Writes a line to standard error, if there is one.
pub(crate) fn to_stderr(line: &[u8]) {
    // SAFETY: the bytes are readable. That nothing may be written is no fault.
    unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_none_is_an_error_and_not_the_end() {
        let mut bytes = [0; 4];
        for wild in [0, 8, u64::MAX - 2, 0x7fff_ffff_f000] {
            assert_eq!((read(wild, &mut bytes), write(wild, &bytes)), (Err(libc::EFAULT), Err(libc::EFAULT)));
        }
        let (theirs, mut mine) = (*b"abcd", [0; 4]);
        read(theirs.as_ptr().addr() as u64, &mut mine).unwrap();
        write(bytes.as_mut_ptr().addr() as u64, &mine).unwrap();
        assert_eq!(&bytes, b"abcd");
    }
}
