//! SG_IO: one SCSI command, and its outcome (Linux, scsi/sg.h, interface version 3).

use super::outcome;
use crate::xdd::engine::{Outcome, Transfer};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

const SG_IO: libc::c_ulong = 0x2285;
/// Sets the number of bytes that are reserved for a descriptor.
const SG_SET_RESERVED_SIZE: libc::c_ulong = 0x2275;
/// Version 3 of the interface: the letter S.
const INTERFACE: libc::c_int = 0x53;
const DXFER_NONE: libc::c_int = -1;
const DXFER_TO_DEV: libc::c_int = -2;
const DXFER_FROM_DEV: libc::c_int = -3;
/// Queue the command behind those that wait. Without it sg puts each command at the head of the device's queue: once
/// more commands wait than the device takes at once, the last comes first, and the oldest starve.
const FLAG_Q_AT_TAIL: u32 = 0x10;

/// sg_io_hdr_t, field for field.
#[repr(C)]
struct Header {
    interface_id: libc::c_int,
    dxfer_direction: libc::c_int,
    cmd_len: u8,
    mx_sb_len: u8,
    iovec_count: u16,
    dxfer_len: u32,
    dxferp: *mut libc::c_void,
    cmdp: *const u8,
    sbp: *mut u8,
    timeout: u32,
    flags: u32,
    pack_id: libc::c_int,
    usr_ptr: *mut libc::c_void,
    status: u8,
    masked_status: u8,
    msg_status: u8,
    sb_len_wr: u8,
    host_status: u16,
    driver_status: u16,
    resid: libc::c_int,
    duration: u32,
    info: u32,
}

/// Header of a command; it holds the addresses of all three, for a call of SG_IO while they are borrowed.
fn header(command: &[u8], transfer: Transfer<'_>, sense: &mut [u8; 32], timeout_ms: u32) -> io::Result<Header> {
    let short = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let (direction, at, len) = match transfer {
        Transfer::Nothing => (DXFER_NONE, ptr::null_mut(), 0),
        // In this direction the kernel only reads.
        Transfer::Out(data) => (DXFER_TO_DEV, data.as_ptr().cast_mut().cast(), data.len()),
        Transfer::In(data) => (DXFER_FROM_DEV, data.as_mut_ptr().cast(), data.len()),
    };
    Ok(Header {
        interface_id: INTERFACE,
        dxfer_direction: direction,
        cmd_len: u8::try_from(command.len()).map_err(short)?,
        mx_sb_len: 32,
        iovec_count: 0,
        dxfer_len: u32::try_from(len).map_err(short)?,
        dxferp: at,
        cmdp: command.as_ptr(),
        sbp: sense.as_mut_ptr(),
        timeout: timeout_ms,
        flags: FLAG_Q_AT_TAIL,
        pack_id: 0,
        usr_ptr: ptr::null_mut(),
        status: 0,
        masked_status: 0,
        msg_status: 0,
        sb_len_wr: 0,
        host_status: 0,
        driver_status: 0,
        resid: 0,
        duration: 0,
        info: 0,
    })
}

/// Executes `command` (6 to 16 bytes) and waits until it has ended, at most for about `timeout_ms`.
pub(crate) fn execute(
    device: BorrowedFd<'_>,
    command: &[u8],
    transfer: Transfer<'_>,
    sense: &mut [u8; 32],
    timeout_ms: u32,
) -> io::Result<Outcome> {
    let mut header = header(command, transfer, sense, timeout_ms)?;
    // SAFETY: the header is as the ioctl wants it; command, sense and data live until it returns, are as long as the
    // header says, and the data is written only where the caller gave it to be written. Nothing is written after it has
    // returned, even in vain: sg has its own memory, from which it copies in the call; a block device waits for the
    // command's end.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), SG_IO as _, &raw mut header) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Outcome {
        status: header.status,
        host: header.host_status,
        driver: header.driver_status,
        sense_len: header.sb_len_wr.min(32),
        residual: u32::try_from(header.resid).unwrap_or(0),
    })
}

/// Lets the kernel reserve so much memory for the data of a command; it may reserve less.
pub(crate) fn reserve(device: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
    let size = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: the ioctl reads one int, which lives until it returns.
    outcome(unsafe { libc::ioctl(device.as_raw_fd(), SG_SET_RESERVED_SIZE as _, &raw const size) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};
    use std::os::fd::AsFd;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_header_lies_as_the_kernel_has_it() {
        assert_eq!((size_of::<Header>(), offset_of!(Header, dxferp), offset_of!(Header, status)), (88, 16, 64));
        assert_eq!((offset_of!(Header, resid), offset_of!(Header, info)), (72, 80));
    }

    /// Regression: at the head of the queue, a target whose commands waited longest got none of the device's places.
    #[test]
    fn each_command_is_queued_at_the_tail() {
        let (mut data, mut sense) = ([0u8; 512], [0; 32]);
        for transfer in [Transfer::Nothing, Transfer::Out(&[0; 512]), Transfer::In(&mut data)] {
            let header = header(&[0x28; 10], transfer, &mut sense, 30_000).unwrap();
            let bytes = |at: usize| -> [u8; 4] {
                // SAFETY: at these offsets, which are inside the header, four bytes of one field lie, without padding.
                unsafe { (&raw const header).cast::<u8>().add(at).cast::<[u8; 4]>().read() }
            };
            assert_eq!(i32::from_ne_bytes(bytes(offset_of!(Header, interface_id))), i32::from(b'S'));
            let flags = offset_of!(Header, flags);
            assert_eq!(u32::from_ne_bytes(bytes(flags)), 0x10, "SG_FLAG_Q_AT_TAIL, and no other flag");
            #[cfg(target_pointer_width = "64")]
            assert_eq!(flags, 44);
        }
    }

    #[test]
    fn what_is_no_scsi_device_says_so() {
        let null = std::fs::File::open("/dev/null").unwrap();
        let error = execute(null.as_fd(), &[0; 6], Transfer::Nothing, &mut [0; 32], 1000).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
        let error = execute(null.as_fd(), &[0; 300], Transfer::Nothing, &mut [0; 32], 1000).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    }
}
