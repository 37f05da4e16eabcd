//! System calls of loads over sockets: sockets and their options, what TCP knows of a connection, files sent without a copy, the
//! process, the terminal, the calendar.

mod local_time;
mod process;
mod socket;
mod tcp_info;
mod terminal;

pub(crate) use local_time::{formatted_time, local_time};
pub(crate) use process::{daemon, fine_sleep, is_alive, realtime, system};
pub(crate) use socket::{
    Ready, bind, bind_device, congestion, connect, flow_label, listen, memory_file, option, poll, receive_no_more,
    send_file, set_congestion, set_option, shut_down, socket, take_only, time_limits,
};
pub use tcp_info::{Handshake, handshake};
pub(crate) use tcp_info::{TcpInfo, tcp_info};
pub(crate) use terminal::Hushed;

use std::io;

/// Outcome of a system call that returns -1 for an error.
fn outcome(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
