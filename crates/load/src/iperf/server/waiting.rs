//! Datagrams that wait for their session to begin.
//!
//! The next one is of the origin of which the fewest sessions have begun lately; of those of an origin, the first. Where as many wait
//! as may, the newest of the origin that has most goes. So an origin that sends more than can begin is in its own way only.

use crate::iperf::lane::Early;
use crate::iperf::protocol::Request;
use linerate_port::Origin;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

/// Time in ns in which late datagrams of a session that has begun begin no other one.
const LATE: u64 = 1_000_000_000;

/// Datagram at the listener.
pub(super) struct Knock {
    pub(super) from: SocketAddr,
    pub(super) early: Early,
    /// Beginning of its bytes, with the request.
    pub(super) request: Result<Request, &'static str>,
}

#[derive(Default)]
pub(super) struct Waiting {
    /// Each with a number in the order of all.
    origins: HashMap<Origin, Of>,
    count: usize,
    number: u64,
    /// Sessions that have begun lately, with their times, the oldest first.
    begun: VecDeque<(u64, SocketAddr)>,
}

/// State of an origin.
#[derive(Default)]
struct Of {
    knocks: VecDeque<(u64, Knock)>,
    /// Number of its sessions that have begun lately.
    begun: usize,
}

impl Waiting {
    /// Greatest number of datagrams that wait.
    pub(super) const MOST: usize = 1024;

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Has a datagram wait, in place of another one where as many wait as may. One that has no number is no datagram of a test.
    pub(super) fn add(&mut self, knock: Knock) {
        if knock.early.datagram.number == 0 {
            return;
        }
        self.number += 1;
        let of = self.origins.entry(knock.from.ip().into()).or_default();
        of.knocks.push_back((self.number, knock));
        self.count += 1;
        if self.count > Self::MOST
            && let Some(fullest) = self.origins.values_mut().max_by_key(|of| of.knocks.len())
        {
            fullest.knocks.pop_back();
            self.count -= 1;
            self.origins.retain(|_, of| of.goes_on());
        }
    }

    /// Takes the datagram whose session is to begin next. What is late of a session that has begun is lost to it, and begins no
    /// other one; nor does what says an end, which may come with all before it.
    pub(super) fn next(&mut self, now: u64) -> Option<Knock> {
        while let Some((_, from)) = self.begun.pop_front_if(|(at, _)| now.saturating_sub(*at) >= LATE) {
            self.change(from, |of| of.begun -= 1);
        }
        loop {
            let waits = self.origins.iter().filter_map(|(origin, of)| Some((of.begun, of.knocks.front()?.0, *origin)));
            let (.., origin) = waits.min_by_key(|(begun, number, _)| (*begun, *number))?;
            let (_, knock) = self.origins.get_mut(&origin)?.knocks.pop_front()?;
            self.count -= 1;
            self.change(knock.from, |_| {});
            let number = knock.early.datagram.number;
            if number == 1 || number > 1 && !self.begun.iter().any(|(_, from)| *from == knock.from) {
                return Some(knock);
            }
        }
    }

    /// Notes that a session begins, and takes what else waits of its address.
    pub(super) fn begun(&mut self, now: u64, from: SocketAddr) -> Vec<Early> {
        self.begun.push_back((now, from));
        let mut early = Vec::new();
        let of = self.origins.entry(from.ip().into()).or_default();
        of.begun += 1;
        for (number, knock) in std::mem::take(&mut of.knocks) {
            if knock.from == from { early.push(knock.early) } else { of.knocks.push_back((number, knock)) }
        }
        self.count -= early.len();
        early
    }

    /// Changes the state of an address's origin, which is forgotten when nothing is left of it.
    fn change(&mut self, from: SocketAddr, change: impl FnOnce(&mut Of)) {
        let origin = from.ip().into();
        if let Some(of) = self.origins.get_mut(&origin) {
            change(of);
            if !of.goes_on() {
                self.origins.remove(&origin);
            }
        }
    }
}

impl Of {
    fn goes_on(&self) -> bool {
        self.begun > 0 || !self.knocks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf::protocol::{Datagram, Stamp};

    fn knock(from: &str, number: i64) -> Knock {
        let datagram = Datagram { number, sent: Stamp::default() };
        Knock {
            from: from.parse().unwrap(),
            early: Early { datagram, bytes: 64, at: 0 },
            request: Ok(Request::default()),
        }
    }

    /// Regression: they waited in the order in which they came, and what came when 1024 did was left to the socket.
    #[test]
    fn datagrams_of_one_origin_are_in_nobody_elses_way() {
        let mut waiting = Waiting::default();
        let crowd = |waiting: &mut Waiting, ports: std::ops::Range<u16>| {
            ports.for_each(|port| waiting.add(knock(&format!("10.0.0.9:{port}"), 1)));
        };
        crowd(&mut waiting, 1..2000);
        assert_eq!(waiting.count, Waiting::MOST);
        let first = waiting.next(0).unwrap().from;
        assert_eq!(first, "10.0.0.9:1".parse().unwrap(), "the first of its origin");
        waiting.begun(0, first);
        // Where as many wait as may, too: three of one address, of which one begins the session, and another address.
        crowd(&mut waiting, 3000..4000);
        for (from, number) in [("10.0.0.1:7", 1), ("10.0.0.1:7", 2), ("[::ffff:10.0.0.1]:8", 1), ("10.0.0.1:7", 3)] {
            waiting.add(knock(from, number));
        }
        assert_eq!(waiting.count, Waiting::MOST);
        let next = waiting.next(0).unwrap();
        assert_eq!(next.from, "10.0.0.1:7".parse().unwrap());
        let early: Vec<i64> = waiting.begun(0, next.from).iter().map(|early| early.datagram.number).collect();
        assert_eq!(early, [2, 3]);
        // One session of each: the other one of the crowd came before.
        assert_eq!(waiting.next(0).unwrap().from, "10.0.0.9:2".parse().unwrap());
        waiting.begun(0, "10.0.0.9:2".parse().unwrap());
        assert_eq!(waiting.next(0).unwrap().from, "[::ffff:10.0.0.1]:8".parse().unwrap());
    }

    #[test]
    fn what_is_late_of_a_session_or_says_an_end_begins_none() {
        let mut waiting = Waiting::default();
        let from = "10.0.0.1:7";
        [0, -5].into_iter().for_each(|number| waiting.add(knock(from, number)));
        assert!(waiting.next(0).is_none() && waiting.is_empty());
        // All of a short test may come before its session has begun.
        [1, 2, -2].into_iter().for_each(|number| waiting.add(knock(from, number)));
        assert_eq!(waiting.next(0).unwrap().early.datagram.number, 1);
        let early: Vec<i64> =
            waiting.begun(0, from.parse().unwrap()).iter().map(|early| early.datagram.number).collect();
        assert_eq!(early, [2, -2]);
        waiting.add(knock(from, 5));
        assert!(waiting.next(LATE - 1).is_none() && waiting.is_empty());
        waiting.add(knock(from, 1));
        assert!(waiting.next(LATE - 1).is_some());
        waiting.add(knock(from, 5));
        assert!(waiting.next(LATE).is_some());
        assert!(waiting.origins.is_empty(), "nothing is kept of who is gone");
    }
}
