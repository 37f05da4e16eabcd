//! What a program may do that others may not, given up as soon as it has its ports.
//!
//! Ports are opened with CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF; what is done with them afterwards (sending, receiving,
//! filters, the link's state, a second opening of the same sockets' rings) takes none of them. So whoever breaks into a
//! program through a frame finds an ordinary process.

use crate::sys::privileges;
use std::io;

/// A capability (capabilities(7)) that may have to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// CAP_DAC_OVERRIDE: files and sockets of other users.
    DacOverride = 1,
}

/// Gives up all capabilities but these, in all threads that there are and will be, and sets `no_new_privs`, so that no
/// program that is run brings any back. There is no way back.
///
/// # Errors
/// The kernel's; a thread did not do it in two seconds.
pub fn confine(keep: &[Capability]) -> io::Result<()> {
    privileges::give_up(keep.iter().fold(0, |all, capability| all | 1 << *capability as u32))
}
