//! Properties of the interface before anything is opened: existence, size, number of queues, the peer of a veth.

use crate::error::{Cause, OpenError};
use crate::kind::Spec;
use linerate_host::shell::word;
use linerate_host::{Control, Ethtool, LinkState, Rtnetlink};
use linerate_ring::{HEADROOM, Region};
use std::io;

/// Bytes of Ethernet's header and two tags.
const ETHERNET: usize = 22;
/// The kernel takes UMEM chunks from 2048 bytes to a page; linerate's other kinds know pages of 4096 only.
const LEAST_BUFFER: u32 = 2048;
const MOST_BUFFER: u32 = 4096;

pub(super) struct Host {
    pub(super) link: LinkState,
    pub(super) control: Control,
    pub(super) netlink: Rtnetlink,
    /// The queues to use.
    pub(super) queues: Vec<u16>,
    /// Bytes of a suitable buffer.
    pub(super) buf_size: u32,
    pub(super) notes: Vec<String>,
    pub(super) mtu: usize,
}

impl Host {
    pub(super) fn look(spec: &Spec) -> Result<Self, OpenError> {
        let name = spec.name.as_str();
        let system = |e: io::Error| OpenError::new(spec, Cause::System, e, "see what the kernel logged");
        let mut netlink = Rtnetlink::open().map_err(|e| OpenError::below(spec, e))?;
        let link = netlink.link(name).map_err(|_| {
            OpenError::new(
                spec,
                Cause::Missing,
                format!("there is no interface '{}'", name.escape_debug()),
                "see the names in 'ip link' (each network namespace has its own)",
            )
        })?;
        let control = Control::open(link.index).map_err(|e| match e.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => denied(spec),
            _ => system(e),
        })?;
        let mut notes = Vec::new();
        if !link.up {
            notes.push(format!("{name} is off: nothing passes until you type: ip link set dev {} up", word(name)));
        }
        let queues = queues(spec, &link, &mut notes)?;
        let mtu = match spec.option("mtu") {
            None => link.mtu as usize,
            Some(_) => spec.mtu()?,
        };
        if mtu > link.mtu as usize {
            return Err(spec.oops(
                format!("mtu={mtu} is beyond the interface's {}", link.mtu),
                format!("leave mtu= out, or type: ip link set dev {} mtu {mtu}", word(name)),
            ));
        }
        let buf_size = match spec.option("buf") {
            None if HEADROOM + mtu + ETHERNET <= LEAST_BUFFER as usize => LEAST_BUFFER,
            None => MOST_BUFFER,
            Some(_) => spec.buf_size()?,
        };
        if !(LEAST_BUFFER..=MOST_BUFFER).contains(&buf_size) {
            let mend = format!("give buf={LEAST_BUFFER} or buf={MOST_BUFFER}; longer frames take several buffers");
            return Err(spec.oops(format!("buf={buf_size} is no size that AF_XDP takes"), mend));
        }
        Ok(Self { link, control, netlink, queues, buf_size, notes, mtu })
    }

    /// Checks the region's buffers, which have the size of the largest that any port asked for.
    pub(super) fn check_region(&self, spec: &Spec, region: &Region) -> Result<(), OpenError> {
        if region.buf_size() <= MOST_BUFFER {
            return Ok(());
        }
        Err(spec.oops(
            format!(
                "a port opened with it wants buffers of {} bytes, and AF_XDP takes {MOST_BUFFER}",
                region.buf_size()
            ),
            format!("give that port buf={MOST_BUFFER}"),
        ))
    }

    /// Largest frame that can pass; adds a note if the interface's own limit is beyond it.
    pub(super) fn largest(&mut self, usable: usize, fragments: bool) -> usize {
        let largest = self.mtu + ETHERNET;
        if fragments || largest <= usable {
            return largest;
        }
        self.notes.push(format!(
            "frames over {usable} bytes are lost: MTU {} does not fit a buffer, and frames of several buffers cannot be \
             had here; type: ip link set dev {} mtu {}",
            self.mtu,
            word(&self.link.name),
            MOST_BUFFER as usize - HEADROOM - ETHERNET,
        ));
        usable
    }

    /// True if a frame may need more than one buffer.
    pub(super) fn needs_fragments(&self, usable: usize) -> bool {
        self.mtu + ETHERNET > usable
    }
}

/// Error for EPERM: names the missing privilege.
pub(super) fn denied(spec: &Spec) -> OpenError {
    OpenError::new(
        spec,
        Cause::Capability,
        "not permitted: AF_XDP takes CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF (which no user namespace gives)",
        "run as root, or type 'setcap cap_net_raw,cap_net_admin,cap_bpf+ep' and the program's path",
    )
}

fn queues(spec: &Spec, link: &LinkState, notes: &mut Vec<String>) -> Result<Vec<u16>, OpenError> {
    let answer = Ethtool::open().and_then(|mut ethtool| ethtool.channels(&link.name));
    let channels = answer.as_ref().ok();
    let told = channels.map(|channels| channels.combined + channels.rx.min(channels.tx));
    let limit = u16::try_from(link.rx_queues.min(link.tx_queues)).unwrap_or(u16::MAX).max(1);
    let (have, known) = match told.and_then(|n| u16::try_from(n).ok()) {
        Some(n) if n > 0 => (n.min(limit), true),
        _ => (limit, limit == 1),
    };
    let what = |wanted: u16| {
        let apart = channels.is_some_and(|channels| channels.combined == 0);
        let kinds = if apart { format!("rx {wanted} tx {wanted}") } else { format!("combined {wanted}") };
        let mend = format!("give a smaller number, or type: ethtool -L {} {kinds}", word(&link.name));
        spec.oops(format!("{} has {have} queues that both receive and transmit", link.name), mend)
    };
    let asked = spec.number("queues", 0u16, 1, 4096)?;
    match (spec.queue, spec.option("queues")) {
        (Some(_), Some(_)) => Err(spec.oops("@ and queues= are both given", "give one of them")),
        (Some(queue), None) if queue >= have => Err(what(queue.saturating_add(1))),
        (Some(queue), None) => Ok(vec![queue]),
        (None, Some(_)) => {
            if asked > have {
                Err(what(asked))
            } else {
                Ok((0..asked).collect())
            }
        }
        (None, None) if known => Ok((0..have).collect()),
        (None, None) => {
            let why = answer.err().map_or_else(String::new, |e| format!(" ({})", e.what));
            let name = &link.name;
            notes.push(format!("{name} does not tell how many queues it uses{why}: one is taken; give queues=N"));
            Ok(vec![0])
        }
    }
}
