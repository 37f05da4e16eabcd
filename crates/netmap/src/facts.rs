//! Numbers and layouts of netmap's interface (API 14), as netmap(4) and `net/netmap.h` name them.

/// Versions that are accepted.
pub(crate) const API: std::ops::RangeInclusive<u16> = 14..=15;

/// Requests of ioctl.
pub(crate) mod ioctl {
    /// `_IOWR('i', 145, struct nmreq)`.
    pub(crate) const GINFO: u64 = 0xc03c_6991;
    /// `_IOWR('i', 146, struct nmreq)`.
    pub(crate) const REGIF: u64 = 0xc03c_6992;
    /// `_IO('i', 148)`.
    pub(crate) const TXSYNC: u64 = 0x6994;
    /// `_IO('i', 149)`.
    pub(crate) const RXSYNC: u64 = 0x6995;
    /// `_IOWR('i', 151, struct nmreq_header)`.
    pub(crate) const CTRL: u64 = 0xc058_6997;

    /// True for a request of netmap's: type `'i'`, numbers 145 to 151.
    pub(crate) fn is_netmaps(request: u64) -> bool {
        (0x6991..=0x6997).contains(&(request & 0xffff))
    }
}

/// Requests of NIOCCTRL by number, 1 to 15.
pub(crate) const REQUESTS: [&str; 16] = [
    "0",
    "REGISTER",
    "PORT_INFO_GET",
    "VALE_ATTACH",
    "VALE_DETACH",
    "VALE_LIST",
    "PORT_HDR_SET",
    "PORT_HDR_GET",
    "VALE_NEWIF",
    "VALE_DELIF",
    "VALE_POLLING_ENABLE",
    "VALE_POLLING_DISABLE",
    "POOLS_INFO_GET",
    "SYNC_KLOOP_START",
    "SYNC_KLOOP_STOP",
    "CSB_ENABLE",
];

/// Numbers of those that are served (`NETMAP_REQ_*`).
pub(crate) mod request {
    pub(crate) const REGISTER: u16 = 1;
    pub(crate) const PORT_INFO_GET: u16 = 2;
    pub(crate) const VALE_ATTACH: u16 = 3;
    pub(crate) const VALE_DETACH: u16 = 4;
    pub(crate) const VALE_LIST: u16 = 5;
    pub(crate) const PORT_HDR_SET: u16 = 6;
    pub(crate) const PORT_HDR_GET: u16 = 7;
    pub(crate) const VALE_NEWIF: u16 = 8;
    pub(crate) const VALE_DELIF: u16 = 9;
    pub(crate) const POLLING_ENABLE: u16 = 10;
    pub(crate) const POLLING_DISABLE: u16 = 11;
    pub(crate) const POOLS_INFO_GET: u16 = 12;
}

/// Bytes of each request's body; 0 for one that has none.
pub(crate) const BODIES: [usize; 16] = [0, 56, 32, 64, 8, 8, 8, 8, 16, 0, 16, 16, 64, 8, 0, 0];

/// Options of requests by number, 1 to 5 (`NETMAP_REQ_OPT_*`).
pub(crate) const OPTIONS: [&str; 6] = ["0", "EXTMEM", "SYNC_KLOOP_EVENTFDS", "CSB", "SYNC_KLOOP_MODE", "OFFSETS"];

/// Modes of REGISTER by number (`NR_REG_*`).
pub(crate) const MODES: [&str; 9] =
    ["DEFAULT", "ALL_NIC", "SW", "NIC_SW", "ONE_NIC", "PIPE_MASTER", "PIPE_SLAVE", "NULL", "ONE_SW"];
pub(crate) const ALL_NIC: u32 = 1;
pub(crate) const SW: u32 = 2;
pub(crate) const NIC_SW: u32 = 3;
pub(crate) const ONE_NIC: u32 = 4;
/// Pipes of the older requests; NIOCCTRL has them in the name.
pub(crate) const PIPE_MASTER: u32 = 5;
pub(crate) const PIPE_SLAVE: u32 = 6;
pub(crate) const NULL: u32 = 7;
pub(crate) const ONE_SW: u32 = 8;

/// Flags of REGISTER (`NR_*`).
pub(crate) mod register {
    pub(crate) const EXCLUSIVE: u64 = 0x800;
    pub(crate) const RX_RINGS_ONLY: u64 = 0x2000;
    pub(crate) const TX_RINGS_ONLY: u64 = 0x4000;
    pub(crate) const DO_RX_POLL: u64 = 0x1_0000;
    pub(crate) const NO_TX_POLL: u64 = 0x2_0000;
    pub(crate) const MONITOR_TX: u64 = 0x100;
    pub(crate) const MONITOR_RX: u64 = 0x200;
    pub(crate) const ZCOPY_MON: u64 = 0x400;
    pub(crate) const MONITOR: u64 = MONITOR_TX | MONITOR_RX | ZCOPY_MON;
    pub(crate) const ACCEPT_VNET_HDR: u64 = 0x8000;
}

/// Bits of `nr_ringid` in the older `struct nmreq`.
pub(crate) mod old {
    pub(crate) const RING_MASK: u16 = 0x0fff;
    pub(crate) const NO_TX_POLL: u16 = 0x1000;
    pub(crate) const SW_RING: u16 = 0x2000;
    pub(crate) const HW_RING: u16 = 0x4000;
    pub(crate) const DO_RX_POLL: u16 = 0x8000;
    /// Bit of `nr_arg1` to attach the host with an interface.
    pub(crate) const HOST: u16 = 1;
    /// Requests by `nr_cmd`; LIST is NIOCGINFO's.
    pub(crate) const ATTACH: u16 = 1;
    pub(crate) const DETACH: u16 = 2;
    pub(crate) const LIST: u16 = 4;
    pub(crate) const HDR_SET: u16 = 5;
    pub(crate) const NEWIF: u16 = 6;
    pub(crate) const DELIF: u16 = 7;
    pub(crate) const POLLING_ON: u16 = 10;
    pub(crate) const POLLING_OFF: u16 = 11;
    pub(crate) const HDR_GET: u16 = 12;
    /// Bits of `nr_flags` that are the mode.
    pub(crate) const MODE_MASK: u32 = 0xf;
}

/// Ring flag (`NR_TIMESTAMP`): each receive sync writes the ring's time.
pub(crate) const TIMESTAMP: u32 = 2;

/// Bytes of a buffer.
pub(crate) const BUF: usize = BUF_BYTES as usize;
pub(crate) const BUF_BYTES: u32 = 2048;
/// Buffers; the first two are never given.
pub(crate) const BUFS: u32 = 163_840;
/// Bytes of a page, of which interfaces and rings are made.
pub(crate) const PAGE: usize = 4096;
/// Bytes before the first buffer, for interfaces and rings.
pub(crate) const RINGS: usize = RINGS_BYTES as usize;
const RINGS_BYTES: u32 = 32 << 20;
/// Bytes of the whole memory, which is sparse: what nobody has touched takes none.
pub(crate) const MEMORY: usize = MEMORY_BYTES as usize;
const MEMORY_BYTES: u32 = RINGS_BYTES + BUFS * BUF_BYTES;
/// Number of the only memory of a process that so many forks lie before: 1, and in a child unlike any of its parents', whose mapping a
/// program may keep. 0 stands for any memory.
pub(crate) fn memory_number(forks: u32) -> u16 {
    u16::try_from(forks % u32::from(u16::MAX)).unwrap_or_default() + 1
}

/// Number of rings, or of one, as requests have it: a port has few.
pub(crate) fn short(n: usize) -> u16 {
    u16::try_from(n).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn memories_of_parents_and_children_have_numbers_of_their_own_and_never_0() {
        assert_eq!([0, 1, 2, 65534, 65535].map(super::memory_number), [1, 2, 3, 65535, 1]);
    }
}
