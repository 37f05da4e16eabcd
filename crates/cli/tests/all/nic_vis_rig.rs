//! An adapter that `linerate nic up` runs, the far end of its port, and programs at its interfaces, for tests.

use crate::process::{BINARY, Ended, LIMIT, Process};
use linerate_host::{Cause, Namespace, VethPair};
use linerate_port::{Link, Port, RxQueue, TxQueue, open};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// EtherType of the tests' frames: IEEE's for local experiments.
pub(crate) const TEST: [u8; 2] = [0x88, 0xb5];

/// A name that no other test has, of up to 11 letters.
pub(crate) fn name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("n{}v{}", std::process::id() % 1_000_000, NEXT.fetch_add(1, Relaxed))
}

/// A place for settings, and the port that they are of.
pub(crate) struct Rig {
    pub(crate) port: String,
    config: TempDir,
    ns: Option<Namespace>,
    /// The far end of the port.
    pub(crate) far: Endpoint,
    _pair: Option<VethPair>,
}

impl Rig {
    /// Over a veth pair in a namespace; None, with the reason printed, if that is not permitted.
    pub(crate) fn over_veth() -> Option<Self> {
        let (near, far) = (format!("{}a", name()), format!("{}b", name()));
        let made = Namespace::quiet().and_then(|ns| {
            let pair = ns.run_in(|| VethPair::new([&near, &far], 1, 1500))??;
            Ok((ns, pair))
        });
        let (ns, pair) = linerate_skip::permitted(made, |e| e.cause == Cause::Capability)?;
        let far = ns.run_in(|| open(&format!("packet:{far}")).unwrap()).unwrap();
        let config = tempfile::tempdir().unwrap();
        Some(Self { port: format!("packet:{near}"), config, ns: Some(ns), far: Endpoint::new(far), _pair: Some(pair) })
    }

    /// Over a cable, whose far end is in this process.
    pub(crate) fn over_cable() -> Self {
        let name = name();
        let far = Endpoint::new(open(&format!("cable:{name}}}1")).unwrap());
        let config = tempfile::tempdir().unwrap();
        Self { port: format!("cable:{name}{{1"), config, ns: None, far, _pair: None }
    }

    fn linerate(&self, arguments: &str) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments.split_whitespace()).env("XDG_CONFIG_HOME", self.config.path());
        command
    }

    /// Runs `linerate nic …`, with the port for PORT; exit code, output and errors.
    pub(crate) fn nic(&self, arguments: &str) -> (Option<i32>, String, String) {
        let mut command = self.linerate(&format!("nic {}", arguments.replace("PORT", &self.port)));
        let out = match &self.ns {
            Some(ns) => ns.run_in(move || command.output().unwrap()).unwrap(),
            None => command.output().unwrap(),
        };
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (out.status.code(), text(out.stdout), text(out.stderr))
    }

    /// The same, of what has to succeed; its output.
    pub(crate) fn does(&self, arguments: &str) -> String {
        let (code, out, error) = self.nic(arguments);
        assert_eq!((code, error.as_str()), (Some(0), ""), "{arguments}");
        out
    }

    /// Starts the adapter.
    pub(crate) fn up(&mut self, options: &str) -> Process {
        // A cable's end pairs again once its queues have let go of the adapter before.
        let until = Instant::now() + LIMIT;
        while self.ns.is_none() && self.far.rx.link() == Link::Up {
            assert!(Instant::now() < until, "the far end sees no link go down");
            std::thread::yield_now();
        }
        self.far.rx.sync();
        self.far.tx.sync();
        let command = self.linerate(&format!("nic up -i {} --json {options}", self.port));
        let mut process = match &self.ns {
            Some(ns) => ns.run_in(|| Process::start(command)).unwrap(),
            None => Process::start(command),
        };
        let (far, is_cable) = (&mut self.far, self.ns.is_none());
        std::thread::scope(|scope| {
            let runs = scope.spawn(move || {
                process.until("adapter runs on");
                process
            });
            // A handshake that took too long is begun anew once the far end's queues have let go of what it left.
            while is_cable && !runs.is_finished() {
                far.rx.sync();
                far.tx.sync();
                std::thread::sleep(Duration::from_millis(1));
            }
            runs.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Starts a pkt-gen at an interface.
    pub(crate) fn pkt_gen(&self, vi: usize, arguments: &str) -> Process {
        Process::start(self.linerate(&format!("pkt-gen -i {}/vi{vi} {arguments}", self.port)))
    }

    /// Waits until the adapter has taken note of so many programs: what comes for one before that is dropped.
    pub(crate) fn seats(&self, programs: usize) {
        let until = Instant::now() + LIMIT;
        while self.does("vi list -i PORT --json").matches("\"present\": true").count() < programs {
            assert!(Instant::now() < until, "not all programs are there");
        }
    }

    /// Opens an interface in this process, which is another one than the adapter's.
    pub(crate) fn at(&self, vi: usize) -> Endpoint {
        Endpoint::new(open(&format!("{}/vi{vi},slots=64", self.port)).unwrap())
    }
}

/// Ends an adapter; its document.
pub(crate) fn end(adapter: Process) -> serde_json::Value {
    adapter.signal("INT");
    let Ended { code, out, log } = adapter.end();
    assert_eq!(code, Some(130), "{out}{log}");
    let document: serde_json::Value = serde_json::from_str(out.trim()).unwrap();
    assert_eq!(document["ledger"]["unexplained"], 0, "{document}");
    document
}

/// The row of an interface in a document.
pub(crate) fn row(document: &serde_json::Value, vi: usize) -> &serde_json::Value {
    let rows = document["interfaces"].as_array().unwrap();
    rows.iter().find(|row| row["interface"] == vi).unwrap_or_else(|| panic!("no {vi} in {document}"))
}

/// A port in this process.
pub(crate) struct Endpoint {
    pub(crate) tx: TxQueue,
    pub(crate) rx: RxQueue,
    pub(crate) port: Port,
}

impl Endpoint {
    pub(crate) fn new(mut port: Port) -> Self {
        Self { tx: port.take_tx(0).unwrap(), rx: port.take_rx(0).unwrap(), port }
    }

    /// Sends a frame, which has room.
    pub(crate) fn send(&mut self, frame: &[u8]) {
        let until = Instant::now() + LIMIT;
        loop {
            let mut batch = self.tx.ring.reserve(1);
            if batch.len() == 1 {
                assert!(batch.put(0, frame));
                batch.commit(1);
                return self.tx.sync();
            }
            assert!(Instant::now() < until, "no room");
            self.tx.sync();
            std::thread::yield_now();
        }
    }

    /// The next frame of the tests.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        let until = Instant::now() + LIMIT;
        loop {
            if let Some(frame) = self.came() {
                return frame;
            }
            assert!(Instant::now() < until, "nothing comes");
            std::thread::yield_now();
        }
    }

    /// The next frame, if one has come and is of the tests.
    pub(crate) fn came(&mut self) -> Option<Vec<u8>> {
        self.rx.sync();
        let mut batch = self.rx.ring.batch(1);
        let n = batch.len();
        let frame = if n > 0 { batch.frame(0).map(|(frame, _)| frame.to_vec()) } else { None };
        batch.release(n);
        frame.filter(|frame| is_test(frame))
    }
}

fn is_test(frame: &[u8]) -> bool {
    frame[12..14] == TEST || (frame[12..14] == [0x81, 0] && frame[16..18] == TEST)
}

/// Address of an interface that a test gives it.
pub(crate) fn mac(vi: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0x77, vi]
}

/// A frame of 64 bytes with a number in it.
pub(crate) fn frame(to: [u8; 6], from: [u8; 6], tag: Option<u16>, number: u8) -> Vec<u8> {
    let mut frame = [to, from].concat();
    if let Some(tci) = tag {
        frame.extend([0x81, 0]);
        frame.extend(tci.to_be_bytes());
    }
    frame.extend(TEST);
    frame.resize(64, number);
    frame
}
