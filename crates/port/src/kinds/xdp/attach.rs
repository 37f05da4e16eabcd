//! From an interface to bound sockets: tries programs and bindings from the best down.

use super::checksums;
use super::host::{Host, denied};
use super::tx::Shape;
use crate::error::{Cause, OpenError};
use crate::kind::Spec;
use crate::sys::umem::Umem;
use crate::sys::xsk::{Binding, Rings, Xsk};
use linerate_host::bpf::{At, Attached, Insn, Map};
use linerate_host::shell::word;
use linerate_text::short;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// Path of frames between the interface and the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The driver moves frames itself.
    ZeroCopy,
    /// The driver runs the program, the kernel copies.
    Copy,
    /// The network stack runs the program, the kernel copies.
    Generic,
}

/// The mode that `mode=` asks for.
pub(super) fn wanted_mode(spec: &Spec) -> Result<Option<Mode>, OpenError> {
    match spec.option("mode") {
        None => Ok(None),
        Some("zerocopy") => Ok(Some(Mode::ZeroCopy)),
        Some("copy") => Ok(Some(Mode::Copy)),
        Some("generic") => Ok(Some(Mode::Generic)),
        Some(other) => Err(spec.oops(
            format!("mode={} is none", short(other, 40)),
            "give mode=zerocopy, mode=copy or mode=generic, or leave it out",
        )),
    }
}

/// The program at an interface, and its map of sockets.
#[derive(Debug)]
pub(super) struct Attachment {
    map: Map,
    _attached: Attached,
    driver: bool,
    fragments: bool,
}

/// A program that redirects each frame to its queue's socket, and passes it to the network stack if there is none.
fn redirect(map: &Map) -> [Insn; 6] {
    [
        // r2 = context->rx_queue_index                (struct xdp_md, byte 16)
        Insn::new(0x61, 0x12, 16, 0),
        // r1 = the map                                (two words; source 1 says: a descriptor)
        Insn::new(0x18, 0x11, 0, map.as_fd().as_raw_fd()),
        Insn::new(0, 0, 0, 0),
        // r3 = XDP_PASS                               (what to do without a socket)
        Insn::new(0xb7, 0x03, 0, 2),
        // r0 = bpf_redirect_map(r1, r2, r3)
        Insn::new(0x85, 0, 0, 51),
        // return r0
        Insn::new(0x95, 0, 0, 0),
    ]
}

impl Attachment {
    fn new(interface: u32, queues: u32, driver: bool) -> io::Result<Self> {
        let map = Map::sockets(queues.max(1))?;
        let attach = |fragments| {
            let at = At::Xdp { interface, driver, fragments };
            retry_while_busy(|| Attached::new(at, "linerate_xsk", &redirect(&map)))
                .map(|attached| (attached, fragments))
        };
        let (attached, fragments) = attach(true).or_else(|e| if is_hopeless(&e) { Err(e) } else { attach(false) })?;
        Ok(Self { map, _attached: attached, driver, fragments })
    }

    /// Steers a queue's frames to a socket from now on.
    pub(super) fn steer(&self, spec: &Spec, queue: u16, socket: &Xsk) -> Result<(), OpenError> {
        self.map.set_socket(queue.into(), socket.as_fd()).map_err(|e| {
            let what = format!("steering queue {queue} to its socket: {e}");
            OpenError::new(spec, Cause::System, what, "see what the kernel logged")
        })
    }
}

/// Sockets and properties of an opened interface.
pub(super) struct Up {
    pub(super) attachment: Arc<Attachment>,
    pub(super) sockets: Vec<(Xsk, Rings)>,
    /// Frames of several buffers are possible.
    pub(super) fragments: bool,
    /// Required shape of transmitted chains.
    pub(super) shape: Shape,
    /// The kernel or the driver completes checksums on request.
    pub(super) requests: bool,
    /// Data path in words.
    pub(super) path: String,
}

/// Repeats `work` while it fails as busy: the kernel frees a closed socket's queue and program with a delay.
fn retry_while_busy<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut left = 50;
    loop {
        match work() {
            Err(e) if is_busy(&e) && left > 0 => {
                left -= 1;
                sleep(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}

fn is_busy(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EBUSY | libc::EEXIST))
}

/// True if another mode would not help.
fn is_hopeless(e: &io::Error) -> bool {
    let errno = e.raw_os_error();
    is_busy(e)
        || matches!(
            errno,
            Some(
                libc::EPERM
                    | libc::EACCES
                    | libc::ENOBUFS
                    | libc::ENOMEM
                    | libc::ENETDOWN
                    | libc::EMFILE
                    | libc::ENFILE
            )
        )
        || matches!(errno, Some(libc::EAFNOSUPPORT | libc::ENOSYS | libc::ENODEV))
}

/// Attaches the program (or uses that of an earlier port of the interface) and binds a socket to each queue.
pub(super) fn bring_up(
    spec: &Spec,
    host: &mut Host,
    umem: &Umem,
    slots: u32,
    earlier: Option<Arc<Attachment>>,
) -> Result<Up, OpenError> {
    let wanted = wanted_mode(spec)?;
    let attachment = match earlier {
        Some(earlier) => earlier,
        None => Arc::new(attach(spec, host, wanted)?),
    };
    if wanted.is_some_and(|mode| (mode == Mode::Generic) == attachment.driver) {
        return Err(spec.oops(
            "another port of this interface, opened with it, runs in another mode",
            "give all of them the same mode=",
        ));
    }
    let usable = umem.usable();
    let mut tries: Vec<Binding> = Vec::new();
    for zero_copy in [true, false] {
        let mode = match (zero_copy, attachment.driver) {
            (true, _) => Mode::ZeroCopy,
            (false, true) => Mode::Copy,
            (false, false) => Mode::Generic,
        };
        if wanted.is_none_or(|wanted| wanted == mode) && (attachment.driver || !zero_copy) {
            tries.extend([true, false].map(|fragments| Binding { zero_copy, fragments }));
        }
    }
    tries.retain(|binding| attachment.fragments || !binding.fragments);
    if host.needs_fragments(usable) {
        // A slower mode is better than no long frames.
        tries.sort_by_key(|binding| !binding.fragments);
    }
    let mut failed = None;
    for binding in tries {
        let mut who = checksums::who(host, binding.zero_copy);
        let (interface, queues) = (host.link.index, host.queues.as_slice());
        let bind = |requests| retry_while_busy(|| sockets(interface, queues, binding, (umem, requests), slots));
        let mut sockets = bind(who.is_ok());
        if who.is_ok() && sockets.as_ref().is_err_and(|e| e.raw_os_error() == Some(libc::EINVAL)) {
            // The cause may be the requests; other causes remain in the second attempt.
            who = Err(checksums::REFUSED.into());
            sockets = bind(false);
        }
        let sockets = match sockets {
            Ok(sockets) => sockets,
            Err(e) if is_hopeless(&e) => return Err(no_socket(spec, host, umem, &e)),
            Err(e) => {
                failed = Some(e);
                continue;
            }
        };
        let Binding { zero_copy, fragments } = binding;
        if !fragments {
            host.notes
                .push("kernel or driver do not take frames of several buffers: chains are copied together".into());
        }
        let told = sockets.first().is_some_and(|(xsk, _)| xsk.is_zero_copy().unwrap_or(false));
        let requests = who.is_ok();
        let path = path(&attachment, told, [requests, fragments], &host.queues);
        host.notes.extend(who.err());
        let shape = Shape::new(zero_copy, fragments);
        return Ok(Up { attachment, sockets, fragments, shape, requests, path });
    }
    let e = failed.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    let mode = spec.option("mode").map_or("any mode".to_owned(), |mode| format!("mode={mode}"));
    Err(OpenError::new(
        spec,
        Cause::Capability,
        format!("{} does not take AF_XDP sockets in {mode} ({e})", host.link.name),
        "leave mode= out, or use packet:",
    ))
}

fn attach(spec: &Spec, host: &mut Host, wanted: Option<Mode>) -> Result<Attachment, OpenError> {
    let index = host.link.index;
    let mut why = None;
    if wanted != Some(Mode::Generic) {
        match Attachment::new(index, host.link.rx_queues, true) {
            Ok(attachment) => return Ok(attachment),
            Err(e) if is_hopeless(&e) || wanted.is_some() => return Err(no_program(spec, host, &e)),
            Err(e) => why = Some(e),
        }
    }
    let attachment = Attachment::new(index, host.link.rx_queues, false).map_err(|e| no_program(spec, host, &e))?;
    if let Some(e) = why {
        host.notes
            .push(format!("the driver does not run XDP programs here ({}), so the network stack does", explain(&e)));
    }
    Ok(attachment)
}

/// Opens one socket per queue; the first one's memory serves all.
fn sockets(
    interface: u32,
    queues: &[u16],
    binding: Binding,
    (umem, requests): (&Umem, bool),
    slots: u32,
) -> io::Result<Vec<(Xsk, Rings)>> {
    let mut sockets: Vec<(Xsk, Rings)> = Vec::with_capacity(queues.len());
    for queue in queues {
        let xsk = Xsk::new()?;
        if sockets.is_empty() {
            xsk.register(umem, requests)?;
        }
        let rings = xsk.rings(slots)?;
        match sockets.first() {
            None => xsk.bind(interface, *queue, binding)?,
            Some((owner, _)) => xsk.bind_shared(interface, *queue, owner)?,
        }
        xsk.widen(slots, umem.chunk());
        sockets.push((xsk, rings));
    }
    Ok(sockets)
}

fn path(attachment: &Attachment, zero_copy: bool, [requests, fragments]: [bool; 2], queues: &[u16]) -> String {
    let runs = if attachment.driver { "native driver" } else { "generic" };
    let moves = if zero_copy { "zero-copy" } else { "copy" };
    let which = match queues {
        [one] => format!("queue {one}"),
        [first, .., last] => format!("queues {first}-{last}"),
        [] => "no queue".into(),
    };
    let requests = if requests { ", transmit checksums" } else { "" };
    let fragments = if fragments { ", fragments" } else { "" };
    format!("AF_XDP, {runs}, {moves}, {which}, need_wakeup{requests}{fragments}")
}

/// Explanation of a driver's error number (veth_xdp_set, dev_xdp_install).
fn explain(e: &io::Error) -> String {
    match e.raw_os_error() {
        Some(libc::ENOSPC) => "it wants at least as many receive queues as the far end has transmit queues".into(),
        Some(libc::ERANGE) => "the MTU is too large for it".into(),
        Some(libc::EOPNOTSUPP) => "not supported".into(),
        _ => e.to_string(),
    }
}

fn no_program(spec: &Spec, host: &mut Host, e: &io::Error) -> OpenError {
    let name = host.link.name.clone();
    match e.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => denied(spec),
        Some(libc::EBUSY | libc::EEXIST) => {
            let id = host.netlink.link(&name).ok().and_then(|link| link.xdp_program);
            let id = id.map_or_else(String::new, |id| format!(" ({id}; see 'bpftool prog show id {id}')"));
            let mend = format!("stop the program that attached it, or type: ip link set dev {} xdp off", word(&name));
            OpenError::new(spec, Cause::Busy, format!("an XDP program is attached to {name}{id}"), mend)
        }
        Some(libc::ENOSPC) => OpenError::new(
            spec,
            Cause::Capability,
            format!("{name}: {}", explain(e)),
            format!(
                "make the far end's transmit queues fewer ('ethtool -L PEER tx N'), or give mode=generic to {name}"
            ),
        ),
        Some(libc::ERANGE) => OpenError::new(
            spec,
            Cause::Capability,
            format!("{name} runs no XDP program with an MTU of {}", host.link.mtu),
            format!("give mode=generic, or type, and so at the far end: ip link set dev {} mtu 1500", word(&name)),
        ),
        Some(libc::ENOSYS) => OpenError::new(
            spec,
            Cause::Capability,
            "this kernel has no bpf(2)",
            "use a kernel from 5.10 with CONFIG_BPF_SYSCALL, or packet:",
        ),
        _ => OpenError::new(
            spec,
            Cause::Capability,
            format!("attaching an XDP program to {name}: {}", explain(e)),
            "leave mode= out, use a kernel from 5.10, or packet:",
        ),
    }
}

fn no_socket(spec: &Spec, host: &Host, umem: &Umem, e: &io::Error) -> OpenError {
    let name = &host.link.name;
    match e.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => denied(spec),
        Some(libc::EAFNOSUPPORT) => OpenError::new(
            spec,
            Cause::Capability,
            "this kernel has no AF_XDP",
            "use one with CONFIG_XDP_SOCKETS, or packet:",
        ),
        Some(libc::ENOBUFS | libc::ENOMEM) => OpenError::new(
            spec,
            Cause::Capability,
            format!("{} MiB of buffers cannot be locked in memory", umem.memory().1.div_ceil(1 << 20)),
            "type 'ulimit -l unlimited' (RLIMIT_MEMLOCK), run with CAP_IPC_LOCK, or give fewer slots= or queues=",
        ),
        Some(libc::ENETDOWN) => OpenError::new(
            spec,
            Cause::System,
            format!("{name} is off"),
            format!("type: ip link set dev {} up", word(name)),
        ),
        Some(libc::EBUSY | libc::EEXIST) => OpenError::new(
            spec,
            Cause::Busy,
            format!("another AF_XDP socket has a queue of {name}"),
            "stop the program that has it, or choose another queue with @N",
        ),
        _ => OpenError::new(spec, Cause::System, format!("AF_XDP socket on {name}: {e}"), "see what the kernel logged"),
    }
}
