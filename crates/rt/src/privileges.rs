//! Privileges of a program, given up as soon as it has opened its ports.
//!
//! Opening ports needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF; their later use (sending, receiving, filters, the link's
//! state, another opening of the same sockets' rings) needs none of them. So an attacker who takes over the program
//! with a frame has an ordinary process.

use crate::sys::privileges;
use std::io;

/// A capability (capabilities(7)) that a program may need to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// CAP_DAC_OVERRIDE: files and sockets of other users.
    DacOverride = 1,
    /// CAP_DAC_READ_SEARCH: files of other users, to be read.
    DacReadSearch = 2,
    /// CAP_NET_BIND_SERVICE: ports below 1024.
    NetBindService = 10,
}

/// Gives up all capabilities but these, in all present and future threads, and sets `no_new_privs`, so that no program
/// executed gets any back. It is irrevocable.
///
/// # Errors
/// Errors of the kernel; also if a thread did not do it within two seconds.
pub fn confine(keep: &[Capability]) -> io::Result<()> {
    privileges::give_up(keep.iter().fold(0, |all, capability| all | 1 << *capability as u32))
}
