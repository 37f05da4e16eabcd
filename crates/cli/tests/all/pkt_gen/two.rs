//! Tests of `-f tx` in one process and `-f rx` in another: the two halves of the ledger agree.

use super::linerate;
use crate::process::{Ended, Process};
use linerate_result::Ledger;
use std::process::Command;
use std::time::Duration;

pub(crate) const FRAMES: u64 = 100_000;

/// Function that starts commands: here, or in a network namespace.
pub(crate) type Start<'a> = &'a dyn Fn(Command, &str) -> Process;

/// Sends [`FRAMES`] frames from one process to another, which checks every byte; the two ledgers, joined, explain each
/// frame.
pub(crate) fn carry(start: Start<'_>, from: &str, to: &str, more: &str) -> [Ended; 2] {
    let receiver = linerate(&format!("pkt-gen -f rx -i {to} -n {FRAMES} -w 0 --json"));
    let mut receiver = start(receiver, "Ready...");
    let sender = linerate(&format!("pkt-gen -f tx -i {from} -n {FRAMES} -w 0 --json {more}"));
    let sent = start(sender, "Ready...").end();
    // It ends by itself when all frames have arrived. If some were dropped, it is signalled, and must account for them.
    if !receiver.ends_within(Duration::from_secs(10)) {
        receiver.signal("INT");
    }
    let received = receiver.end();
    let (tx, rx) = (sent.test(), received.test());
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let mut ledger = Ledger::default();
    ledger.add(tx.ledger.as_ref().unwrap());
    ledger.add(rx.ledger.as_ref().unwrap());
    assert_eq!((ledger.offered, ledger.sent), (Some(FRAMES), Some(FRAMES)), "{}", sent.log);
    assert!(ledger.settle().is_zero(), "{ledger:?}\n{}\n{}", sent.log, received.log);
    assert_eq!((ledger.duplicated, ledger.foreign, rx.counters.total("check.corrupt")), (0, 0, Some(0)), "{ledger:?}");
    let whole = ledger.received == Some(FRAMES);
    assert_eq!(received.code, Some(if whole { 0 } else { 130 }), "{received:?}");
    [sent, received]
}

#[test]
fn a_cable_carries_every_frame_between_two_processes() {
    let name = format!("cable:two{}", std::process::id());
    for (k, more) in ["-l 64", "--imix", "-l 1514", "-6 -l 1000 -F 3"].iter().enumerate() {
        let [sent, received] = carry(&Process::ready, &format!("{name}-{k}{{1"), &format!("{name}-{k}}}1"), more);
        let [tx, rx] = [sent.test().ledger.unwrap(), received.test().ledger.unwrap()];
        assert_eq!((tx.received, rx.sent), (None, None), "each counts its own side");
        assert_eq!(rx.received, Some(FRAMES), "a cable drops nothing");
    }
}
