//! No allocation and no system call per packet: a run of ten times as many frames allocates and calls no more.

use linerate_load::pktgen::{Config, MODES, Output, run};
use linerate_load::xdd;
use linerate_result::Test;
use linerate_rt::{Stop, WaitMode};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// True in a thread that watches others work: it allocates as time goes by, not as frames do.
    static WATCHES: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: hands everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !WATCHES.get() {
            ALLOCATIONS.fetch_add(1, Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of allocations by the working threads of a whole run of so many frames, and its test.
fn allocations(port: &str, to: Option<&str>, count: u64) -> (u64, Test) {
    let mut config = Config::new(port);
    config.mode = MODES.iter().find(|mode| mode.name == "tx").unwrap();
    config.to = to.map(str::to_owned);
    config.count = count;
    config.wait = WaitMode::Busy;
    // No report occurs in a run: its lines are strings.
    config.report = std::time::Duration::from_secs(3600);
    let stop = Stop::new().unwrap();
    let output = Arc::new(Output::new(Box::new(std::io::sink()), Box::new(std::io::sink()), false, &stop));
    let before = ALLOCATIONS.load(Relaxed);
    WATCHES.set(true);
    let mut finished = run(config, Vec::new(), &stop, &output).unwrap();
    WATCHES.set(false);
    let spent = ALLOCATIONS.load(Relaxed) - before;
    let test = finished.result.tests.pop().unwrap();
    assert_eq!(test.ledger.as_ref().unwrap().sent, Some(count));
    (spent, test)
}

/// Number of allocations of an xdd run of so many requests.
fn requests(target: &str, count: u64) -> u64 {
    let text = format!("-targets 1 {target} -bs 512 -rs 1 -nr {count} -qd 16 -rwratio 50 -dp sequenced");
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let xdd::Command::Run(config) = xdd::Config::parse(&words).unwrap() else { panic!("it is a run") };
    let stop = Stop::new().unwrap();
    let sink = || Box::new(std::io::sink());
    let mut streams = xdd::Streams::open(&config, sink(), sink(), &stop).unwrap();
    let before = ALLOCATIONS.load(Relaxed);
    let done = xdd::run(&config, xdd::engine::open, Vec::new(), &stop, &mut streams).unwrap();
    let spent = ALLOCATIONS.load(Relaxed) - before;
    assert_eq!((done.all.ops(), done.all.errors()), (count, 0));
    spent
}

/// A veth pair in a namespace of its own; `None`, with the reason on standard output, if the privilege is missing.
#[cfg(target_os = "linux")]
fn veth() -> Option<(linerate_host::VethPair, linerate_host::Namespace)> {
    use linerate_host::{Cause, Namespace, VethPair};
    let ns = linerate_skip::permitted(Namespace::new(), |e| e.cause == Cause::Capability)?;
    Some((ns.run_in(|| VethPair::new(["va", "vb"], 1, 1500)).unwrap().unwrap(), ns))
}

/// Over the kernel's ports a system call moves a batch: at least 32 frames are sent by one (or all frames, or none if
/// the kernel has no room). A receiver from a mapped ring needs none to receive, and reads the kernel's counters now and
/// then; one by recvmmsg needs one a poll, and one more for each 64 frames that had come by then.
#[cfg(target_os = "linux")]
fn by_the_kernels_ports() {
    let Some((_pair, ns)) = veth() else { return };
    for (kind, option, polls_a_call, frames_a_call) in
        [("packet", "", 1, 64), ("packet", ",rx=ring", 256, u64::MAX), ("xdp", "", 256, u64::MAX)]
    {
        let (from, to) = (format!("{kind}:va"), format!("{kind}:vb{option}"));
        if let Err(e) = ns.run_in(|| linerate_port::open(&from)).unwrap()
            && e.cause == linerate_port::Cause::Capability
        {
            linerate_skip::skip!("{e}");
            continue;
        }
        let run = |count| ns.run_in(|| allocations(&from, Some(&to), count)).unwrap();
        run(1_000);
        let (few, _) = run(20_000);
        // What is done once in a while, such as reading the interface's counters, allocates too, in one run or another:
        // what a frame or a batch costs is in each of them.
        let (many, test) = (0..5).map(|_| run(200_000)).min_by_key(|(many, _)| *many).unwrap();
        assert!(many < few + 64, "{kind}: {few} allocations for 20000 frames, {many} for 200000");
        let polls = |k: usize| test.cpu[k].busy_polls.unwrap() + test.cpu[k].empty_polls.unwrap();
        let [sending, receiving, batches] =
            ["tx0.syscalls", "rx0.syscalls", "rx0.batches"].map(|name| test.counters.total(name).unwrap());
        assert!(sending <= 200_000 / 32 + polls(0), "{kind}: {sending} calls to send, {} polls", polls(0));
        let most = batches + polls(1) / polls_a_call + 200_000 / frames_a_call + 16;
        assert!(receiving <= most, "{to}: {receiving} calls to receive {batches} batches");
        // What a busy machine leaves in the kernel's queues is another test's.
        assert!(test.ledger.unwrap().received > Some(0), "{kind}");
    }
}

/// One test only: two at a time would count each other's allocations.
#[test]
fn frames_cost_no_allocation_and_no_system_call() {
    #[cfg(target_os = "linux")]
    by_the_kernels_ports();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("disk");
    std::fs::write(&file, vec![0; 1 << 20]).unwrap();
    for target in ["null:1M", "ram:1M", file.to_str().unwrap()] {
        requests(target, 1_000);
        let (few, many) = (requests(target, 5_000), requests(target, 50_000));
        assert!(many < few + 64, "{target}: {few} allocations for 5000 requests, {many} for 50000");
    }
    for (port, to) in [("null:", None), ("cable:hot{1", Some("cable:hot}1"))] {
        allocations(port, to, 1_000);
        let (few, _) = allocations(port, to, 20_000);
        let (many, test) = allocations(port, to, 200_000);
        assert!(many < few + 64, "{port}: {few} allocations for 20000 frames, {many} for 200000");
        let calls: u64 = test.counters.iter().filter(|(_, name, _)| name.ends_with(".syscalls")).map(|(.., n)| n).sum();
        assert!(calls < 2_000, "{port}: {calls} system calls for 200000 frames");
        assert_eq!(test.failures, Vec::<String>::new(), "{port}");
    }
}
