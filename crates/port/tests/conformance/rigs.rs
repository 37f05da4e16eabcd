//! Setup of each kind of port for the suite. A new kind is one function and one row of [`RIGS`].

use linerate_port::switch::{Grant, Listener, Policy, Switch};
use linerate_port::{Cause, OpenError, Port, RxQueue, Spec, TxQueue, open_all};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Options for opening the ports of a rig.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) slots: u32,
    pub(crate) mtu: u32,
    /// Smaller buffers than the MTU needs: received frames become chains.
    pub(crate) buf: Option<u32>,
}

impl Shape {
    pub(crate) const USUAL: Self = Self { slots: 64, mtu: 1500, buf: None };

    fn options(&self) -> String {
        let buf = self.buf.map(|n| format!(",buf={n}")).unwrap_or_default();
        format!(",slots={},mtu={}{buf}", self.slots, self.mtu)
    }
}

/// A way for frames: what leaves one queue arrives at the other.
pub(crate) struct FramePath {
    pub(crate) name: String,
    pub(crate) tx: TxQueue,
    pub(crate) far: Far,
    /// A sender waits for its receiver; otherwise frames are dropped, and counted, at the receiver.
    pub(crate) blocks: bool,
    /// The receiver's port says that it can pause its sender.
    pub(crate) pauses: bool,
}

/// The receiving end of a way.
#[expect(clippy::large_enum_variant, reason = "there is one a test")]
pub(crate) enum Far {
    /// Receiver that is open while frames are sent.
    Now(RxQueue),
    /// Receiver that can be opened when all is sent and the sender closed (a file).
    Later(Box<dyn FnOnce() -> RxQueue>),
}

/// Ports under test.
#[derive(Default)]
pub(crate) struct Rig {
    pub(crate) ways: Vec<FramePath>,
    /// Queues that swallow what they get.
    pub(crate) sinks: Vec<TxQueue>,
    /// Queues at which something always arrives.
    pub(crate) sources: Vec<RxQueue>,
    /// A port's name that is open in this rig, how to open it once more, and whether that must fail.
    pub(crate) again: Option<Again>,
    /// Takes the far end of the first way away, if that can be done.
    pub(crate) cut: Option<Box<dyn FnOnce()>>,
    /// Objects that have to live as long as the queues.
    pub(crate) keep: Vec<Box<dyn Any>>,
}

pub(crate) struct Again {
    pub(crate) open: Box<dyn FnOnce() -> Result<Vec<Port>, OpenError>>,
    pub(crate) must_fail: bool,
}

/// Reason that a rig could not be set up: a privilege or kernel feature is missing.
pub(crate) struct Skipped(pub(crate) String);

type Setup = fn(&Shape) -> Result<Rig, Skipped>;

/// The rigs, by kind.
pub(crate) static RIGS: &[(&str, Setup)] = &[
    ("cable", cable),
    ("null", null),
    ("pcap", pcap),
    ("vale", vale),
    ("vi", vi),
    #[cfg(target_os = "linux")]
    ("packet", packet),
    #[cfg(target_os = "linux")]
    ("tap", tap),
    #[cfg(target_os = "linux")]
    ("unix", unix),
    #[cfg(target_os = "linux")]
    ("xdp", xdp),
];

/// Skips what lacks a privilege; anything else is a failure.
fn skip_or_panic(error: impl Into<OpenError>) -> Skipped {
    let error = error.into();
    assert_eq!(error.cause, Cause::Capability, "{error}");
    Skipped(error.to_string())
}

/// The ways between the first queues of two ports, both directions; each way may block or not.
fn ways(a: &mut Port, b: &mut Port, blocks: [bool; 2]) -> Vec<FramePath> {
    let name = |from: &Port, to: &Port| format!("{} -> {}", from.info().name, to.info().name);
    let way = |from: &mut Port, to: &mut Port, blocks| {
        let (tx, far) = (from.take_tx(0).unwrap(), Far::Now(to.take_rx(0).unwrap()));
        FramePath { name: name(from, to), tx, far, blocks, pauses: to.info().caps.pause }
    };
    vec![way(a, b, blocks[0]), way(b, a, blocks[1])]
}

fn both(names: [String; 2]) -> Result<[Port; 2], Skipped> {
    let ports = open_all(&names).map_err(skip_or_panic)?;
    Ok(ports.try_into().ok().unwrap())
}

fn cable(shape: &Shape) -> Result<Rig, Skipped> {
    let names = ["cable:conformance{1", "cable:conformance}1"].map(|name| format!("{name}{}", shape.options()));
    let [mut a, mut b] = both(names.clone())?;
    let ways = ways(&mut a, &mut b, [true; 2]);
    let open = move || open_all(&[&names[0], &names[0]]);
    let again = Some(Again { open: Box::new(open), must_fail: true });
    Ok(Rig { ways, again, cut: Some(Box::new(move || drop(b))), keep: vec![Box::new(a)], ..Rig::default() })
}

fn null(shape: &Shape) -> Result<Rig, Skipped> {
    let name = format!("null:{},size=60", shape.options());
    let mut ports = open_all(&[&name]).map_err(skip_or_panic)?;
    let again = Some(Again { open: Box::new(move || open_all(&[&name])), must_fail: false });
    let (sinks, sources) = (vec![ports[0].take_tx(0).unwrap()], vec![ports[0].take_rx(0).unwrap()]);
    Ok(Rig { sinks, sources, again, keep: vec![Box::new(ports)], ..Rig::default() })
}

/// One port drops frames without room, as VALE does; the other makes its senders wait.
fn vale(shape: &Shape) -> Result<Rig, Skipped> {
    let names =
        [("a", ",pause=0xff"), ("b", "")].map(|(port, pause)| format!("vale:conf:{port}{}{pause}", shape.options()));
    let [mut a, mut b] = both(names.clone())?;
    let ways = ways(&mut a, &mut b, [false, true]);
    let open = move || open_all(&[&names[0], &names[0]]);
    let again = Some(Again { open: Box::new(open), must_fail: true });
    Ok(Rig { ways, again, keep: vec![Box::new((a, b))], ..Rig::default() })
}

/// Two interfaces at an adapter's listener, with a switch behind it that makes senders wait.
fn vi(shape: &Shape) -> Result<Rig, Skipped> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let port = format!("cable:conf{}-{}{{1", std::process::id(), NEXT.fetch_add(1, Relaxed));
    let listener = Listener::of_adapter(&Spec::parse(&port).unwrap()).map_err(skip_or_panic)?;
    let grant = || Grant { policy: Policy { pause: 0xff, ..Policy::default() }, ..Grant::default() };
    listener.grant(vec![("vi1".into(), grant()), ("vi2".into(), grant())]);
    let behind = Behind::start(listener);
    let names = ["1", "2"].map(|vi| format!("{port}/vi{vi}{}", shape.options()));
    let [mut a, mut b] = both(names.clone())?;
    let until = Instant::now() + Duration::from_secs(60);
    while behind.admitted.load(Relaxed) < 2 {
        assert!(Instant::now() < until, "the door lets nobody in");
        std::thread::yield_now();
    }
    let mut ways = ways(&mut a, &mut b, [true; 2]);
    // A pause reaches the switch, which has room of its own for what comes meanwhile.
    ways.iter_mut().for_each(|way| way.pauses = false);
    let open = move || open_all(&[&names[0]]);
    let again = Some(Again { open: Box::new(open), must_fail: true });
    Ok(Rig { ways, again, keep: vec![Box::new((a, b)), Box::new(behind)], ..Rig::default() })
}

/// A switch behind a listener, in a thread of its own.
struct Behind {
    stop: Arc<AtomicBool>,
    admitted: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl Behind {
    fn start(listener: Listener) -> Self {
        let (stop, admitted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let (ended, count) = (stop.clone(), admitted.clone());
        let thread = std::thread::spawn(move || {
            // Its clock goes while it has turns: what waits for room is lost after a second, and not because this machine
            // stands still.
            let (mut switch, mut now, mut turned) = (Switch::new(), Duration::ZERO, Instant::now());
            while !ended.load(Relaxed) {
                listener.admit(&mut switch);
                count.store(u32::try_from(switch.ports().len()).unwrap(), Relaxed);
                now += turned.elapsed().min(Duration::from_millis(1));
                turned = Instant::now();
                if !switch.poll(linerate_text::saturating_ns(now)) {
                    std::thread::yield_now();
                }
            }
        });
        Self { stop, admitted, thread: Some(thread) }
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// Written first, read when it is closed.
fn pcap(shape: &Shape) -> Result<Rig, Skipped> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("way.pcap").display().to_string();
    let (out, back) = (format!("pcap:{file},mode=w{}", shape.options()), format!("pcap:{file}{}", shape.options()));
    let mut writer = open_all(&[&out]).map_err(skip_or_panic)?;
    let tx = writer[0].take_tx(0).unwrap();
    let read = move || open_all(&[&back]).unwrap()[0].take_rx(0).unwrap();
    // A file that is being written is nobody else's.
    let again = Some(Again {
        open: Box::new({
            let out = out.clone();
            move || open_all(&[&out])
        }),
        must_fail: true,
    });
    let way = FramePath { name: out, tx, far: Far::Later(Box::new(read)), blocks: true, pauses: false };
    Ok(Rig { ways: vec![way], again, keep: vec![Box::new(dir)], ..Rig::default() })
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use linerate_host::{Namespace, Offloads, VethPair};
    use std::sync::Arc;

    pub(super) fn packet(shape: &Shape) -> Result<Rig, Skipped> {
        let ns = Arc::new(Namespace::new().map_err(skip_or_panic)?);
        let pair =
            ns.run_in(|| VethPair::new(["va", "vb"], 1, shape.mtu)).and_then(|pair| pair).map_err(skip_or_panic)?;
        // One way by recvmmsg, the other by the ring of blocks.
        let names = ["va,rx=ring", "vb"].map(|name| format!("packet:{name}{}", shape.options()));
        let [mut a, mut b] = ns.run_in(|| both(names.clone())).map_err(skip_or_panic)??;
        // The kernel drops what a packet socket has no room for.
        let ways = ways(&mut a, &mut b, [false; 2]);
        let again_in = ns.clone();
        let open = move || again_in.run_in(|| open_all(&[&names[0]]))?;
        let again = Some(Again { open: Box::new(open), must_fail: false });
        let cut = Box::new(move || pair.set_up("vb", false).unwrap());
        Ok(Rig { ways, again, cut: Some(cut), keep: vec![Box::new((a, b, ns))], ..Rig::default() })
    }

    pub(super) fn xdp(shape: &Shape) -> Result<Rig, Skipped> {
        assert!(shape.buf.is_none(), "AF_XDP has buffers of 2048 bytes or more");
        let ns = Arc::new(Namespace::new().map_err(skip_or_panic)?);
        let pair = ns.run_in(|| VethPair::new(["va", "vb"], 1, shape.mtu)).and_then(|pair| pair);
        let pair = pair.map_err(skip_or_panic)?;
        let off = Offloads { tx_checksum: false, tso: false, gso: false, gro: false };
        for name in ["va", "vb"] {
            pair.set_offloads(name, off).unwrap();
        }
        let names = ["va", "vb"].map(|name| format!("xdp:{name}{}", shape.options()));
        let [mut a, mut b] = ns.run_in(|| both(names.clone())).map_err(skip_or_panic)??;
        let ways = ways(&mut a, &mut b, [false; 2]);
        let again_in = ns.clone();
        let open = move || again_in.run_in(|| open_all(&[&names[0]]))?;
        let again = Some(Again { open: Box::new(open), must_fail: true });
        let cut = Box::new(move || pair.set_up("vb", false).unwrap());
        Ok(Rig { ways, again, cut: Some(cut), keep: vec![Box::new((a, b, ns))], ..Rig::default() })
    }

    pub(super) fn tap(shape: &Shape) -> Result<Rig, Skipped> {
        // The kernel's own end of the interface is to send nothing.
        let ns = Arc::new(Namespace::quiet().map_err(skip_or_panic)?);
        let names = ["tap:t0", "packet:t0"].map(|name| format!("{name}{}", shape.options()));
        // One after the other: the second needs the interface that the first makes.
        let opened = ns.run_in(|| both_in_turn(&names));
        let [mut a, mut b] = opened.map_err(skip_or_panic)??;
        // The interface's queue tells its sender that it is full; the packet socket drops.
        let ways = ways(&mut a, &mut b, [false, true]);
        let again_in = ns.clone();
        let open = move || again_in.run_in(|| open_all(&[&names[0]]))?;
        let again = Some(Again { open: Box::new(open), must_fail: true });
        Ok(Rig { ways, again, keep: vec![Box::new((a, b, ns))], ..Rig::default() })
    }

    fn both_in_turn(names: &[String; 2]) -> Result<[Port; 2], Skipped> {
        let first = linerate_port::open(&names[0]).map_err(skip_or_panic)?;
        Ok([first, linerate_port::open(&names[1]).map_err(skip_or_panic)?])
    }

    pub(super) fn unix(shape: &Shape) -> Result<Rig, Skipped> {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let names = [(&a, &b), (&b, &a)]
            .map(|(local, remote)| format!("unix:{}:{}{}", local.display(), remote.display(), shape.options()));
        let [mut a, mut b] = both_in_turn(&names)?;
        let ways = ways(&mut a, &mut b, [true; 2]);
        let open = move || open_all(&[&names[0]]);
        let again = Some(Again { open: Box::new(open), must_fail: true });
        Ok(Rig { ways, again, cut: Some(Box::new(move || drop(b))), keep: vec![Box::new((a, dir))], ..Rig::default() })
    }
}
#[cfg(target_os = "linux")]
use linux::{packet, tap, unix, xdp};
