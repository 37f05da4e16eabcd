//! Tests of LUNs of a target on a cable.

use super::*;
use linerate_block::Ram;
use linerate_fcoe::{Disks, DisksConfig, Node, NodeConfig, NodeEvent, TargetConfig};
use linerate_rt::fc::{FcOptions, FcPort, Watcher};
use linerate_rt::{Sleeper, WaitMode, Waiter};
use linerate_wire::Wwn;

struct Nobody;

impl Watcher<Disks> for Nobody {
    fn event(&mut self, _: u64, _: &NodeEvent, _: &mut Node<Disks>) {}
    fn turn(&mut self, _: u64, _: &mut Node<Disks>) -> bool {
        false
    }
    fn poll_timeout(&self) -> Option<u64> {
        None
    }
    fn waits_for(&mut self, _: &mut dyn FnMut(&mut dyn Sleeper)) {}
    fn is_done(&self) -> bool {
        false
    }
}

/// Starts a target with these LUNs at one end of a cable, until it is told to stop. Returns the other end's name.
fn target(luns: Vec<Box<dyn Backend + Send>>, stop: &Stop) -> (String, Wwn, std::thread::JoinHandle<u64>) {
    let cable = format!("cable:xdd-{}-{}", std::process::id(), NAMES.fetch_add(1, Relaxed));
    let port = FcPort::open(&format!("{cable}{{1,mtu=2180"), &FcOptions::default()).unwrap();
    let config = NodeConfig { target: Some(TargetConfig::default()), ..port.config() };
    let stop = stop.clone();
    let thread = std::thread::spawn(move || {
        let mut disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 1 << 20 });
        for (lun, backend) in (0..).zip(luns) {
            disks.add(lun, backend).unwrap();
        }
        let mut node = port.node(&config, disks, Nobody).unwrap();
        linerate_rt::run(&mut node, &mut Waiter::new(WaitMode::Sleep), &stop);
        node.node().target().unwrap().counters().bytes_received
    });
    (format!("{cable}}}1,mtu=2180"), config.wwpn, thread)
}

#[test]
fn luns_on_a_port_are_targets() {
    let stop = Stop::new().unwrap();
    let ram = |lun| -> Box<dyn Backend + Send> { Box::new(Ram::new(1 << 20, 512, false, lun).unwrap()) };
    let (port, wwpn, thread) = target((0..4).map(ram).collect(), &stop);
    let name = format!("fcoe:{port}/{wwpn}");
    let go = |text: &str| {
        let config = config(&format!("{text} -blocksize 512 -reqsize 8 -numreqs 256 -queuedepth 8")).unwrap();
        run_opened_by(&config, engine::open)
    };
    let written = go(&format!("-op write -targets 4 {name} -datapattern sequenced")).unwrap();
    assert_eq!((written.all.writes.ops, written.all.writes.errors), (4 * 256, 0));
    let read = go(&format!("-op read -targets 4 {name} -datapattern sequenced -verify contents")).unwrap();
    assert_eq!((read.all.reads.ops, read.all.miscompares, read.targets.len()), (4 * 256, 0, 4));
    assert_eq!(read.result.exit_code(), 0);
    let mut paths = read.result.tests.iter().flat_map(|test| &test.ports).map(|port| &port.path);
    assert!(paths.any(|path| path.starts_with(&format!("FCoE, LUN 3 of {wwpn}"))));
    let error = go(&format!("-op read -targets 5 fcoe:{port}")).err().unwrap();
    assert!(error.contains("there are 4; give -targets 4"), "{error}");
    stop.ask(0);
    assert_eq!(thread.join().unwrap(), 4 * 256 * 8 * 512);
}

/// Regression: any failed disk was reported as "the medium failed", whatever its target had reported.
#[test]
fn a_lun_that_fails_is_quoted() {
    let stop = Stop::new().unwrap();
    let (_, disk) = disk(64);
    disk.lock().unwrap().bad = Some(3);
    let (port, wwpn, thread) = target(vec![Box::new(Held::new(&disk))], &stop);
    let text = format!("-op read -targets 1 fcoe:{port}/{wwpn} -blocksize 512 -reqsize 1 -numreqs 8");
    let left = run_opened_by(&config(&text).unwrap(), engine::open).unwrap();
    stop.ask(0);
    assert_eq!((left.all.reads.ops, left.all.reads.errors, left.result.exit_code()), (7, 1, 1));
    let line =
        "read of 512 bytes at 1536 (LBA 3): READ of 1 blocks at 3: MEDIUM ERROR, UNRECOVERED READ ERROR (03/11/00)";
    assert!(left.log.contains(line), "{}", left.log);
    assert_eq!(thread.join().unwrap(), 0);
}

#[test]
fn luns_with_protection_information_are_checked() {
    let stop = Stop::new().unwrap();
    let (port, wwpn, thread) = target(vec![Box::new(Ram::new(1 << 20, 512, true, 1).unwrap())], &stop);
    let name = format!("fcoe:{port}/{wwpn}");
    let go = |text: &str| {
        let config = config(&format!("-targets 1 {name} -blocksize 512 -reqsize 8 -numreqs 64 {text}")).unwrap();
        run_opened_by(&config, engine::open).unwrap()
    };
    let written = go("-op write -datapattern sequenced -pi ip,app=7");
    assert_eq!((written.all.writes.ops, written.all.writes.errors), (64, 0));
    let read = go("-op read -datapattern sequenced -verify contents -pi crc,app=7");
    assert_eq!((read.all.reads.ops, read.all.miscompares), (64, 0));
    let other = go("-op read -pi crc,app=8");
    assert_eq!((other.all.reads.ops, other.all.reads.errors, other.result.exit_code()), (0, 64, 1));
    let line = "READ of 8 blocks at 8: the application tag of the block at 8 is wrong: it belongs to something else";
    assert!(other.log.contains(line), "{}", other.log);
    stop.ask(0);
    thread.join().unwrap();
}

/// A device that spoils each buffer that it has written, and counts those that it is given spoilt.
struct Spoiler {
    shape: engine::Shape,
    ended: VecDeque<engine::Ended>,
    spoilt: Arc<AtomicU32>,
}

impl Engine for Spoiler {
    fn shape(&self) -> &engine::Shape {
        &self.shape
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        let Operation::Write { mut buffer, .. } = operation else { panic!("{operation:?}") };
        if buffer.bytes()[3] == 1 {
            self.spoilt.fetch_add(1, Relaxed);
        }
        buffer.bytes_mut()[3] = 1;
        self.ended.push_back(engine::Ended { tag, buffer: Some(buffer), result: Ok(()) });
    }

    fn complete(&mut self) -> Option<engine::Ended> {
        self.ended.pop_front()
    }
}

/// A pattern that is the same everywhere is filled into a buffer once, unless protection information is made from it:
/// what has changed in the buffer since would get a right one.
#[test]
fn what_protection_information_is_made_from_is_filled_just_before() {
    static SPOILT: Mutex<Option<Arc<AtomicU32>>> = Mutex::new(None);
    fn open(protected: bool) -> engine::Opened {
        let spoilt = SPOILT.lock().unwrap().clone().unwrap();
        let shape = engine::Shape { path: "test".into(), block_size: 512, blocks: 4096, read_only: false, protected };
        Ok(vec![Box::new(Spoiler { shape, ended: VecDeque::new(), spoilt })])
    }
    let config = config("-targets 1 /x -op write -blocksize 512 -reqsize 8 -numreqs 64").unwrap();
    let opens: [(engine::Open, u32); 2] = [(|_| open(true), 0), (|_| open(false), 63)];
    for (opens, wanted) in opens {
        let spoilt = Arc::new(AtomicU32::new(0));
        *SPOILT.lock().unwrap() = Some(spoilt.clone());
        run_opened_by(&config, opens).unwrap();
        assert_eq!(spoilt.load(Relaxed), wanted);
    }
}
