//! Benches of a cable between two threads, and between two processes.

use super::roof;
use super::{Bench, How, Missing, Peer, Setting, config, quietly, rate_and_frames, sent_and_checked};
use linerate_result::{RunResult, Unit};
use std::process::{Command, Stdio};

pub(super) const TWO_THREADS: Bench = Bench {
    name: "cable",
    about: "64-byte frames over a cable between two threads, every byte written, read and checked",
    unit: Unit::Pps,
    two_cores: true,
    bound: None,
    run: two_threads,
    peers: &[
        Peer { name: "roof", how: How::Best(roof::variants), wanted: Some(0.7) },
        Peer { name: "dpdk-cable", how: How::Script(&["dpdk-cable", "--burst", "256"]), wanted: Some(1.2) },
        Peer {
            name: "dpdk-memif zero-copy",
            how: How::Script(&["dpdk-memif", "--zero-copy", "--burst", "256"]),
            wanted: Some(2.5),
        },
    ],
};

pub(super) const TWO_PROCESSES: Bench = Bench {
    name: "cable-2p",
    about: "the same between two processes",
    unit: Unit::Pps,
    two_cores: true,
    bound: None,
    run: two_processes,
    peers: &[Peer { name: "two threads", how: How::Own(two_threads), wanted: Some(0.9) }],
};

#[cfg(target_os = "linux")]
pub(super) const MEMORY: Bench = Bench {
    name: "memory",
    about: "resident bytes that a default cable pair adds, both ends used",
    unit: Unit::Bytes,
    two_cores: false,
    bound: Some(20.0 * 1024.0 * 1024.0),
    run: resident,
    peers: &[],
};

fn two_threads(setting: &Setting) -> Result<f64, Missing> {
    let mut config = config(setting, "cable:bench{1");
    config.to = Some("cable:bench}1".into());
    sent_and_checked(config)
}

/// Measures with this process as the sender; another pkt-gen receives and checks.
fn two_processes(setting: &Setting) -> Result<f64, Missing> {
    let failed = |e: &dyn std::fmt::Display| Missing::Failed(e.to_string());
    let program = std::env::current_exe().map_err(|e| failed(&e))?;
    let cable = format!("cable:bench-{}", std::process::id());
    let core = setting.cores[1].to_string();
    let receiver = Command::new(program)
        .args(["pkt-gen", "-f", "rx", "-W", "-w", "0", "-b", "256", "--wait", "busy", "--json"])
        .args(["-a", &core, "-i", &format!("{cable}}}1")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| failed(&e))?;
    // The process that comes first makes the cable; the receiver must be there before frames flow.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let sent = quietly(config(setting, &format!("{cable}{{1"))).and_then(|finished| rate_and_frames(&finished));
    let out = receiver.wait_with_output().map_err(|e| failed(&e))?;
    let (rate, frames) = sent?;
    let said = RunResult::from_json(&String::from_utf8_lossy(&out.stdout)).map_err(|e| failed(&e))?;
    let Some(test) = said.tests.first() else { return Err(failed(&"the receiver made no test")) };
    let received = test.ledger.as_ref().and_then(|ledger| ledger.received).unwrap_or(0);
    let corrupt = test.counters.total("check.corrupt").ok_or_else(|| failed(&"the receiver checked nothing"))?;
    if !out.status.success() || corrupt != 0 || received != frames {
        return Err(Missing::Failed(format!("of {frames} frames {received} arrived, {corrupt} of them corrupt")));
    }
    Ok(rate)
}

/// Resident memory of this process, bytes (proc(5): statm counts pages; huge pages are in smaps_rollup only).
#[cfg(target_os = "linux")]
fn resident_now() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let kib = |key: &str| -> Option<f64> {
        let line = text.lines().find(|line| line.starts_with(key))?;
        line.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    Some(1024.0 * (kib("Rss:")? + kib("Shared_Hugetlb:")? + kib("Private_Hugetlb:")?))
}

#[cfg(target_os = "linux")]
fn resident(_: &Setting) -> Result<f64, Missing> {
    let failed = |e: &dyn std::fmt::Display| Missing::Failed(e.to_string());
    let now = || resident_now().ok_or_else(|| Missing::Skipped("no /proc/self/smaps_rollup".into()));
    let before = now()?;
    let mut ports = linerate_port::open_all(&["cable:memory{1", "cable:memory}1"]).map_err(|e| failed(&e))?;
    let mut taken = || Some((ports[0].take_tx(0)?, ports[1].take_rx(0)?, ports[1].take_tx(0)?, ports[0].take_rx(0)?));
    let (mut out, mut at_far, mut back, mut at_near) = taken().ok_or_else(|| failed(&"no queues"))?;
    // All slots of both directions are used, so that all buffers are touched.
    for (tx, rx) in [(&mut out, &mut at_far), (&mut back, &mut at_near)] {
        for _ in 0..16 {
            let mut batch = tx.ring.reserve(256);
            let n = batch.len();
            if (0..n).any(|i| !batch.put(i, &[0x55; 1514])) {
                return Err(failed(&"a frame does not fit"));
            }
            batch.commit(n);
            tx.sync();
            rx.sync();
            let batch = rx.ring.batch(256);
            let n = batch.len();
            batch.release(n);
            rx.sync();
        }
    }
    let after = now()?;
    // The queues keep the region alive.
    drop((out, at_far, back, at_near));
    Ok((after - before).max(0.0))
}
