//! Identity of an open file beyond stat(2): its file system's identifier, and the generation of its inode number.

use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, offset_of, size_of};
use std::os::fd::AsRawFd;

/// Identifier of the file system that a file is on (`f_fsid` of statfs(2)); None if it has none.
pub(crate) fn file_system(file: &File) -> io::Result<Option<u64>> {
    const { assert!(size_of::<libc::fsid_t>() == size_of::<u64>(), "two 32-bit numbers") };
    let mut about = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: a statfs to be written.
    if unsafe { libc::fstatfs(file.as_raw_fd(), about.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the field lies in the structure, and the 8 bytes at its place were initialised. Its parts are not public.
    let id = unsafe { about.as_ptr().byte_add(offset_of!(libc::statfs, f_fsid)).cast::<u64>().read_unaligned() };
    Ok(Some(id).filter(|id| *id != 0))
}

/// Generation of the file's inode number (FS_IOC_GETVERSION), which differs when the number is used again; None if the file
/// system tells of none.
pub(crate) fn generation(file: &File) -> Option<libc::c_long> {
    // The request's number says that it is a long; file systems write an int.
    let mut generation: libc::c_long = 0;
    // SAFETY: a long to be written.
    let got = unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETVERSION as _, &raw mut generation) };
    (got == 0).then_some(generation)
}
