//! BPF programs at hooks of the kernel's network path. Program, maps and link live as long as their descriptors:
//! nothing stays attached after the process ends.

pub use crate::sys::bpf::{Insn, Map};
use crate::sys::bpf::{link, load};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

// enum bpf_prog_type, bpf_attach_type of linux/bpf.h
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_PROG_TYPE_NETFILTER: u32 = 32;
const BPF_XDP: u32 = 37;
const BPF_NETFILTER: u32 = 45;
const BPF_TCX_INGRESS: u32 = 46;
const BPF_TCX_EGRESS: u32 = 47;
/// The program accepts frames of several buffers (Linux 5.18).
const BPF_F_XDP_HAS_FRAGS: u32 = 1 << 5;
/// XDP mode: run by the network stack, for any interface, or by the driver (linux/if_link.h).
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
/// linux/netfilter.h
const NFPROTO_IPV4: u32 = 2;

/// Hook for a program; interfaces are given by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Netfilter hook of that number (`enum nf_inet_hooks`) for IPv4, in the calling thread's network namespace.
    Netfilter(u32),
    /// Traffic control, ingress of an interface.
    TcIngress(u32),
    /// Traffic control, egress of an interface.
    TcEgress(u32),
    /// XDP at an interface.
    Xdp {
        /// Index of the interface.
        interface: u32,
        /// Run in its driver, before there is a socket buffer; otherwise in the network stack after it.
        driver: bool,
        /// Pass frames of several buffers to the program too.
        fragments: bool,
    },
}

/// A program at its hook; it is detached when this value is dropped. It keeps the maps that it uses alive.
#[derive(Debug)]
#[must_use = "the program is taken off when this value goes"]
pub struct Attached {
    _link: OwnedFd,
}

impl Attached {
    /// Loads a program and attaches it. Needs CAP_BPF and CAP_NET_ADMIN; the name appears in lists of programs.
    pub fn new(at: At, name: &str, program: &[Insn]) -> io::Result<Self> {
        let (prog_type, attach_type, interface) = match at {
            At::Netfilter(_) => (BPF_PROG_TYPE_NETFILTER, BPF_NETFILTER, 0),
            At::TcIngress(interface) => (BPF_PROG_TYPE_SCHED_CLS, BPF_TCX_INGRESS, interface),
            At::TcEgress(interface) => (BPF_PROG_TYPE_SCHED_CLS, BPF_TCX_EGRESS, interface),
            At::Xdp { interface, .. } => (BPF_PROG_TYPE_XDP, BPF_XDP, interface),
        };
        // Traffic control accepts any attach type at load, and expects none.
        let expected = if prog_type == BPF_PROG_TYPE_SCHED_CLS { 0 } else { attach_type };
        let (load_flags, link_flags) = match at {
            At::Xdp { driver, fragments, .. } => (
                if fragments { BPF_F_XDP_HAS_FRAGS } else { 0 },
                if driver { XDP_FLAGS_DRV_MODE } else { XDP_FLAGS_SKB_MODE },
            ),
            _ => (0, 0),
        };
        let of_the_place = match at {
            At::Netfilter(hook) => [NFPROTO_IPV4, hook, 1, 0],
            _ => [0; 4],
        };
        let loaded = load(prog_type, expected, program, load_flags, name)?;
        Ok(Self { _link: link(loaded.as_fd(), interface, attach_type, link_flags, of_the_place)? })
    }
}
