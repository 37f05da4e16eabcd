//! Processor time of UDP datagrams that go at a rate, from one host's socket to another's over a cable.
//!
//! Both threads poll without pause, so their processor time says nothing. Counted is the time that they do *not* need:
//! polls that find nothing to do, times what such a poll takes while nothing is sent. No clock is read for it while
//! datagrams pass.

use super::udp_flood::{BODY, connect, datagram, drain, hosts};
use super::{Missing, Setting, failed};
use linerate_rt::net::Node;
use linerate_rt::{Clock, spawn};
use linerate_stack::{SendError, UdpId};
use linerate_text::saturating_ns;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier};

/// Processor time of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Taken {
    datagrams: u64,
    /// Share of the time in which there was something to do.
    share: f64,
}

/// Polls that found nothing to do, and the time in which they were made.
#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    polls: u64,
    ns: u64,
}

impl Idle {
    /// Share of the time that was not spent in polls like those of `alone`.
    fn busy(self, alone: Self) -> f64 {
        let each = alone.ns as f64 / alone.polls.max(1) as f64;
        (1.0 - self.polls as f64 * each / self.ns.max(1) as f64).clamp(0.0, 1.0)
    }
}

/// Share of a core's time that so many datagrams of 64-byte frames a second take: the mean of sender and receiver. An
/// error if not all that were sent arrived; discarded if they were not sent in time.
pub(super) fn share(setting: &Setting, rate: u32) -> Result<f64, Missing> {
    let [given, taken] = measure(setting, rate)?;
    let wanted = f64::from(rate) * setting.time.as_secs_f64();
    let (sent, received) = (given.datagrams, taken.datagrams);
    if received != sent {
        return Err(failed(format!("{sent} datagrams were sent, and {received} received")));
    }
    if (sent as f64) < 0.97 * wanted {
        return Err(Missing::Discarded(format!("{sent} of {wanted:.0} datagrams were sent")));
    }
    Ok((given.share + taken.share) / 2.0)
}

/// Sender and receiver.
fn measure(setting: &Setting, rate: u32) -> Result<[Taken; 2], Missing> {
    let [sender, receiver] = hosts("udp-paced")?;
    let time = saturating_ns(setting.time);
    let (start, over) = (Arc::new(Barrier::new(2)), Arc::new(AtomicBool::new(false)));
    let (their_start, their_over) = (start.clone(), over.clone());
    let taking = spawn("udp-paced-rx", &[setting.cores[1]], move || receive(receiver, time, &their_start, &their_over));
    let taking = taking.map_err(failed)?;
    let giving = spawn("udp-paced-tx", &[setting.cores[0]], move || {
        let given = send(sender, time, rate.into(), &start);
        // The receiver ends, also after an error.
        over.store(true, Relaxed);
        given
    });
    let given = giving.map_err(failed)?.join().map_err(|_| failed("the sender panicked"))?;
    let taken = taking.join().map_err(|_| failed("the receiver panicked"))?;
    Ok([given?, taken])
}

/// Sends nothing for a quarter of a time, and then at a rate for all of it.
fn send((mut node, socket): (Node, UdpId), time: u64, rate: u64, start: &Barrier) -> Result<Taken, Missing> {
    connect(&mut node, socket);
    let mut clock = Clock::new();
    // The same code, at a rate of 0.
    let (_, alone) = send_for(&mut node, socket, &mut clock, time / 4, 0)?;
    start.wait();
    let (datagrams, idle) = send_for(&mut node, socket, &mut clock, time, rate)?;
    drain(&mut node, &mut clock);
    Ok(Taken { datagrams, share: idle.busy(alone) })
}

/// Sends each datagram when it is due, for a time.
#[inline(never)]
fn send_for(node: &mut Node, socket: UdpId, clock: &mut Clock, time: u64, rate: u64) -> Result<(u64, Idle), Missing> {
    let (began, mut now, mut sent, mut polls) = (clock.now(), 0, 0, 0);
    while now < began + time {
        now = clock.now();
        let due = due(began, now, rate, sent);
        if due == 0 {
            polls += 1;
            continue;
        }
        let (host, mut tx) = node.parts();
        for _ in 0..due {
            match host.udp_send(now, socket, None, &datagram(sent), &mut tx) {
                Ok(()) => sent += 1,
                Err(SendError::NoRoom) => break,
                Err(e) => return Err(failed(e)),
            }
        }
        node.flush(now);
    }
    Ok((sent, Idle { polls, ns: now - began }))
}

fn due(began: u64, now: u64, rate: u64, sent: u64) -> u64 {
    // Microseconds, so that hours at a 32-bit rate do not overflow.
    (((now - began) / 1000).saturating_mul(rate) / 1_000_000).saturating_sub(sent)
}

/// Takes nothing for a quarter of a time, and then datagrams until the sender has ended and nothing more comes.
fn receive((mut node, socket): (Node, UdpId), time: u64, start: &Barrier, over: &AtomicBool) -> Taken {
    let mut clock = Clock::new();
    let (_, alone) = take_for(&mut node, socket, &mut clock, time / 4, &AtomicBool::new(true));
    start.wait();
    let (datagrams, idle) = take_for(&mut node, socket, &mut clock, time, over);
    Taken { datagrams, share: idle.busy(alone) }
}

/// Takes datagrams for a time, and until nothing more can come.
#[inline(never)]
fn take_for(node: &mut Node, socket: UdpId, clock: &mut Clock, time: u64, over: &AtomicBool) -> (u64, Idle) {
    let mut buffer = [0; BODY];
    let (began, mut datagrams, mut polls) = (clock.now(), 0, 0);
    loop {
        let now = clock.now();
        // First the question whether more can come, then the look whether something came.
        let last = now >= began + time && over.load(Relaxed);
        node.handle(now);
        let before = datagrams;
        while node.ip.host.udp_recv(socket, &mut buffer).is_some() {
            datagrams += 1;
        }
        if datagrams > before {
            continue;
        }
        if last {
            return (datagrams, Idle { polls, ns: now - began });
        }
        polls += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_idle_was_busy() {
        let alone = Idle { polls: 1000, ns: 100_000 };
        assert_eq!(Idle { polls: 750, ns: 100_000 }.busy(alone), 0.25);
        assert_eq!(Idle { polls: 1500, ns: 100_000 }.busy(alone), 0.0, "the cores became faster");
        assert_eq!(Idle { polls: 0, ns: 100_000 }.busy(alone), 1.0);
    }

    #[test]
    fn datagrams_are_due_by_the_clock() {
        assert_eq!(due(1000, 1000, 1_000_000, 0), 0);
        assert_eq!(due(1000, 1_001_000, 1_000_000, 0), 1000);
        assert_eq!(due(1000, 1_001_000, 1_000_000, 990), 10);
        assert_eq!(due(0, 1_000_000, 1_000_000, 5000), 0);
        assert_eq!(due(0, u64::MAX, 0, 0), 0);
    }

    #[test]
    fn what_is_sent_at_a_rate_arrives() {
        let Some(setting) = Setting::brief() else { return };
        let [given, taken] = measure(&setting, 100_000).unwrap();
        assert!(taken.datagrams == given.datagrams && given.datagrams > 0, "{given:?} {taken:?}");
    }
}
