//! What was sent and is not acknowledged: the scoreboard (RFC 2018, RFC 6675), and which of it is lost (RACK, RFC 8985).

use super::seq::Seq;
use std::collections::VecDeque;

/// Segments that must have overtaken one before it is lost, while no reordering was seen (RFC 8985, section 6.2).
const OVERTAKEN: u32 = 3;
/// Recoveries after which a wider window for reordering is narrowed again (section 6.2, step 4).
const PERSISTS: u8 = 16;

/// State of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Flying,
    /// To be sent again.
    Lost,
    /// Beyond a gap at the receiver.
    Sacked,
}

/// Part of the stream that was sent at once.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: Seq,
    to: Seq,
    /// Time at which it was last sent.
    sent: u64,
    /// It was sent more than once.
    again: bool,
    state: State,
}

impl Piece {
    fn len(&self) -> u32 {
        self.from.to(self.to)
    }
}

/// Result of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delivered {
    /// Bytes that were not known to have arrived before: acknowledged, or beyond a gap.
    pub(super) bytes: u32,
    /// Round trip of a piece that was sent once.
    pub(super) rtt: Option<u64>,
    /// Something arrived that was taken for lost, and was not sent again.
    pub(super) original: bool,
}

/// The piece that was sent last of all that has arrived (RFC 8985, section 5.2).
#[derive(Clone, Copy, Debug, Default)]
struct Rack {
    latest: Option<(u64, Seq)>,
    rtt: u64,
    /// Highest number that has arrived.
    forward: Option<Seq>,
    reordered: bool,
    /// Window for reordering, in quarters of the least round trip, and recoveries until it is one again.
    quarters: u32,
    persists: u8,
}

/// All pieces, in the order of the stream, and the bytes of each state.
#[derive(Debug, Default)]
pub(super) struct Flight {
    pieces: VecDeque<Piece>,
    bytes: u32,
    sacked: u32,
    lost: u32,
    rack: Rack,
}

impl Flight {
    /// True if all is acknowledged.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes that were sent and are not acknowledged, whatever has become of them.
    #[inline]
    pub(super) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Bytes that are under way: sent, neither arrived nor lost.
    #[inline]
    pub(super) fn flying(&self) -> u32 {
        self.bytes - self.sacked - self.lost
    }

    /// Bytes that are to be sent again.
    #[inline]
    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    /// Bytes that have arrived beyond a gap.
    pub(super) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Notes that new bytes were sent.
    #[inline]
    pub(super) fn sent(&mut self, now: u64, from: Seq, to: Seq) {
        self.bytes += from.to(to);
        self.pieces.push_back(Piece { from, to, sent: now, again: false, state: State::Flying });
    }

    /// The first range that is to be sent again, at most so many bytes of it.
    pub(super) fn next_lost(&self, most: u32) -> Option<(Seq, Seq)> {
        if self.lost == 0 {
            return None;
        }
        let first = self.pieces.iter().position(|piece| piece.state == State::Lost)?;
        // Small pieces that follow each other are sent as one.
        let lost = self.pieces.range(first..).take_while(|piece| piece.state == State::Lost);
        let from = self.pieces.get(first)?.from;
        let len = lost
            .scan(0, |len, piece| {
                (*len < most).then(|| {
                    *len += piece.len();
                    *len
                })
            })
            .last()?;
        Some((from, from.plus(len.min(most))))
    }

    /// The last range, at most so many bytes: for a probe of the tail (RFC 8985, section 7.3).
    pub(super) fn tail(&self, most: u32) -> Option<(Seq, Seq)> {
        let piece = self.pieces.iter().rev().find(|piece| piece.state == State::Flying)?;
        Some((piece.to.minus(piece.len().min(most)), piece.to))
    }

    /// Notes that a range was sent again.
    pub(super) fn sent_again(&mut self, now: u64, from: Seq, to: Seq) {
        self.for_each(from, to, |piece| (piece.sent, piece.again, piece.state) = (now, true, State::Flying));
    }

    /// Lets `change` change the pieces of a range that have not arrived, cutting those at its ends.
    fn for_each(&mut self, from: Seq, to: Seq, mut change: impl FnMut(&mut Piece)) {
        self.cut(from);
        self.cut(to);
        let first = self.pieces.partition_point(|piece| piece.to.is_until(from));
        for piece in self.pieces.range_mut(first..).take_while(|piece| piece.from.is_before(to)) {
            if piece.state == State::Sacked {
                continue;
            }
            let was_lost = piece.state == State::Lost;
            change(piece);
            match (was_lost, piece.state) {
                (true, State::Flying | State::Sacked) => self.lost -= piece.len(),
                (false, State::Lost) => self.lost += piece.len(),
                _ => {}
            }
            if piece.state == State::Sacked {
                self.sacked += piece.len();
            }
        }
    }

    /// Makes a place the end of a piece.
    fn cut(&mut self, at: Seq) {
        let index = self.pieces.partition_point(|piece| piece.to.is_until(at));
        let Some(piece) = self.pieces.get_mut(index).filter(|piece| piece.from.is_before(at)) else { return };
        let rest = Piece { from: at, ..*piece };
        piece.to = at;
        self.pieces.insert(index + 1, rest);
    }

    /// Takes an acknowledgement of all before `una`, and of the ranges beyond it. `echo`: an echoed timestamp says that
    /// what was sent again at this time or later has not been seen by who answers.
    pub(super) fn acked(
        &mut self,
        now: u64,
        una: Seq,
        sacked: &[(u32, u32)],
        least: Option<u64>,
        is_seen: impl Fn(u64) -> bool,
    ) -> Delivered {
        let (mut delivered, mut again) = (Delivered::default(), false);
        while let Some(piece) = self.pieces.front().copied().filter(|piece| piece.from.is_before(una)) {
            if una.is_before(piece.to) {
                // Receivers of super-frames acknowledge parts of them.
                self.cut(una);
                continue;
            }
            self.pieces.pop_front();
            self.bytes -= piece.len();
            match piece.state {
                State::Sacked => self.sacked -= piece.len(),
                State::Lost => self.lost -= piece.len(),
                State::Flying => {}
            }
            again |= piece.again;
            if piece.state != State::Sacked {
                self.arrived(now, &piece, least, &is_seen, &mut delivered);
            }
        }
        if again {
            // What was sent once may have waited at the receiver for what was sent again (RFC 6298, section 3).
            delivered.rtt = None;
        }
        for (from, to) in sacked.iter().map(|(from, to)| (Seq(*from), Seq(*to))) {
            self.take_sack(now, from, to, least, &is_seen, &mut delivered);
        }
        delivered
    }

    fn take_sack(
        &mut self,
        now: u64,
        from: Seq,
        to: Seq,
        least: Option<u64>,
        is_seen: &impl Fn(u64) -> bool,
        delivered: &mut Delivered,
    ) {
        let (Some(first), Some(last)) = (self.pieces.front(), self.pieces.back()) else { return };
        // A block that is not within what was sent is not believed; one before it is of DSACK (RFC 2883).
        if !from.is_before(to) || from.is_before(first.from) || last.to.is_before(to) {
            return;
        }
        let mut arrived = Vec::new();
        self.for_each(from, to, |piece| {
            arrived.push(*piece);
            piece.state = State::Sacked;
        });
        for piece in arrived {
            self.arrived(now, &piece, least, is_seen, delivered);
        }
    }

    /// A piece is known to have arrived (RFC 8985, section 6.2, steps 2 and 3).
    fn arrived(
        &mut self,
        now: u64,
        piece: &Piece,
        least: Option<u64>,
        is_seen: &impl Fn(u64) -> bool,
        delivered: &mut Delivered,
    ) {
        delivered.bytes += piece.len();
        delivered.original |= piece.state == State::Lost && !piece.again;
        let trip = now.saturating_sub(piece.sent);
        if !piece.again {
            // The latest of those that arrive together waited least for the acknowledgement.
            delivered.rtt = Some(delivered.rtt.map_or(trip, |other: u64| other.min(trip)));
        }
        let rack = &mut self.rack;
        match rack.forward {
            Some(forward) if piece.to.is_before(forward) => rack.reordered |= !piece.again,
            _ => rack.forward = Some(piece.to),
        }
        // It may be the first one that arrived, late.
        if piece.again && (least.is_some_and(|least| trip < least) || !is_seen(piece.sent)) {
            return;
        }
        rack.rtt = trip;
        if rack.latest.is_none_or(|latest| is_after((piece.sent, piece.to), latest)) {
            rack.latest = Some((piece.sent, piece.to));
        }
    }

    /// Takes what was sent so long before something that has arrived that it must be lost (RFC 8985, section 6.2, steps 4
    /// and 5): true if there is such. Otherwise the time at which there may be, if nothing comes.
    pub(super) fn find_lost(&mut self, now: u64, window: u64) -> (bool, Option<u64>) {
        let Some(latest) = self.rack.latest else { return (false, None) };
        // Without gaps nothing has overtaken anything; what was sent again has its own time.
        let (mut found, mut wait) = (false, None);
        for piece in self.pieces.iter_mut().filter(|piece| piece.state == State::Flying) {
            if !is_after(latest, (piece.sent, piece.to)) {
                continue;
            }
            let lost_at = piece.sent.saturating_add(self.rack.rtt).saturating_add(window);
            if lost_at <= now {
                piece.state = State::Lost;
                self.lost += piece.len();
                found = true;
            } else {
                wait = Some(wait.map_or(lost_at, |wait: u64| wait.max(lost_at)));
            }
        }
        (found, wait)
    }

    /// Window for reordering: time by which something may be overtaken without being lost (step 4).
    pub(super) fn reordering_window(&self, mss: u32, recovers: bool, least: Option<u64>, smoothed: Option<u64>) -> u64 {
        if !self.rack.reordered && (recovers || self.sacked >= OVERTAKEN * mss) {
            return 0;
        }
        let quarter = least.unwrap_or(0) / 4;
        (u64::from(self.rack.quarters.max(1)) * quarter).min(smoothed.unwrap_or(0))
    }

    /// Something came twice at the receiver: it was only late, so more reordering is allowed for (step 4).
    pub(super) fn was_late(&mut self) {
        self.rack.quarters = (self.rack.quarters.max(1) + 1).min(64);
        self.rack.persists = PERSISTS;
        self.rack.reordered = true;
    }

    /// A recovery has ended.
    pub(super) fn recovered(&mut self) {
        self.rack.persists = self.rack.persists.saturating_sub(1);
        if self.rack.persists == 0 {
            self.rack.quarters = 1;
        }
    }

    /// Takes the first bytes for lost: for receivers without SACK, after three acknowledgements that tell nothing new.
    pub(super) fn lose_first(&mut self, most: u32) {
        let Some(piece) = self.pieces.front() else { return };
        let (from, to) = (piece.from, piece.from.plus(piece.len().min(most)));
        if piece.state == State::Flying {
            self.for_each(from, to, |piece| piece.state = State::Lost);
        }
    }

    /// Forgets what was sent from a number on: it is as if that had not been sent.
    pub(super) fn forget_from(&mut self, at: Seq) {
        self.cut(at);
        while let Some(piece) = self.pieces.pop_back_if(|piece| at.is_until(piece.from)) {
            self.bytes -= piece.len();
            match piece.state {
                State::Sacked => self.sacked -= piece.len(),
                State::Lost => self.lost -= piece.len(),
                State::Flying => {}
            }
        }
    }

    /// Takes what has not arrived of a range for lost.
    pub(super) fn lose(&mut self, from: Seq, to: Seq) {
        self.for_each(from, to, |piece| piece.state = State::Lost);
    }

    /// Bytes of a range that are to be sent again.
    pub(super) fn lost_within(&self, from: Seq, to: Seq) -> u32 {
        let first = self.pieces.partition_point(|piece| piece.to.is_until(from));
        let within = self.pieces.range(first..).take_while(|piece| piece.from.is_before(to));
        within.filter(|piece| piece.state == State::Lost).map(Piece::len).sum()
    }

    /// Takes all that has not arrived for lost, after a time-out. What a receiver has said to have it may drop (RFC 2018,
    /// section 8): `forgets` takes that too.
    pub(super) fn lose_all(&mut self, forgets: bool) {
        for piece in &mut self.pieces {
            if piece.state != State::Sacked || forgets {
                piece.state = State::Lost;
            }
        }
        if forgets {
            self.sacked = 0;
        }
        self.lost = self.bytes - self.sacked;
    }

    /// Nothing was lost: what was not sent again is under way.
    pub(super) fn find_again(&mut self) {
        for piece in self.pieces.iter_mut().filter(|piece| piece.state == State::Lost) {
            piece.state = State::Flying;
        }
        self.lost = 0;
    }
}

/// True if one piece was sent after another (RFC 8985, section 5.2: RACK_sent_after).
fn is_after(one: (u64, Seq), other: (u64, Seq)) -> bool {
    one.0 > other.0 || one.0 == other.0 && other.1.is_before(one.1)
}

#[cfg(test)]
mod tests {
    use super::super::MILLISECOND;
    use super::*;

    const MSS: u32 = 1000;

    /// Five segments of 1000 bytes, a millisecond apart.
    fn five() -> Flight {
        let mut flight = Flight::default();
        (0..5).for_each(|n| flight.sent(u64::from(n) * MILLISECOND, Seq(n * MSS), Seq((n + 1) * MSS)));
        flight
    }

    fn ack(flight: &mut Flight, now: u64, una: u32, sacked: &[(u32, u32)]) -> Delivered {
        flight.acked(now * MILLISECOND, Seq(una), sacked, None, |_| true)
    }

    #[test]
    fn what_is_acknowledged_is_gone() {
        let mut flight = five();
        assert_eq!(flight.flying(), 5000);
        let got = ack(&mut flight, 100, 2500, &[]);
        assert_eq!(got, Delivered { bytes: 2500, rtt: Some(98 * MILLISECOND), original: false });
        assert_eq!(flight.flying(), 2500);
        assert_eq!(ack(&mut flight, 101, 2500, &[]), Delivered::default());
        assert_eq!(ack(&mut flight, 102, 5000, &[]).bytes, 2500);
        assert!(flight.is_empty() && flight.flying() == 0);
    }

    #[test]
    fn three_that_overtake_one_lose_it() {
        let mut flight = five();
        assert_eq!(ack(&mut flight, 50, 0, &[(1000, 2000)]).bytes, 1000);
        let window = flight.reordering_window(MSS, false, Some(40 * MILLISECOND), Some(40 * MILLISECOND));
        assert_eq!(window, 10 * MILLISECOND, "a quarter of the least round trip");
        let (found, wait) = flight.find_lost(50 * MILLISECOND, window);
        assert_eq!((found, wait), (false, Some(59 * MILLISECOND)), "sent at 0, 49 ms of a trip, 10 ms");
        ack(&mut flight, 51, 0, &[(1000, 4000)]);
        let window = flight.reordering_window(MSS, false, Some(40 * MILLISECOND), Some(40 * MILLISECOND));
        assert_eq!(window, 0, "three have overtaken it");
        assert!(flight.find_lost(51 * MILLISECOND, window).0);
        assert_eq!((flight.lost(), flight.sacked(), flight.flying()), (1000, 3000, 1000));
        assert_eq!(flight.next_lost(300), Some((Seq(0), Seq(300))));
        flight.sent_again(52 * MILLISECOND, Seq(0), Seq(1000));
        assert_eq!((flight.lost(), flight.flying(), flight.next_lost(MSS)), (0, 2000, None));
        // It is not lost again before its own time.
        assert!(!flight.find_lost(53 * MILLISECOND, 0).0);
        let got = ack(&mut flight, 100, 4000, &[]);
        assert_eq!((got.bytes, got.rtt), (1000, None), "whose round trip is not known");
    }

    #[test]
    fn what_was_sent_again_is_lost_again_when_later_ones_arrive() {
        let mut flight = five();
        ack(&mut flight, 50, 0, &[(1000, 4000)]);
        assert!(flight.find_lost(51 * MILLISECOND, 0).0);
        flight.sent_again(60 * MILLISECOND, Seq(0), Seq(1000));
        flight.sent(61 * MILLISECOND, Seq(5000), Seq(6000));
        ack(&mut flight, 110, 0, &[(1000, 4000), (5000, 6000)]);
        assert!(flight.find_lost(110 * MILLISECOND, 0).0, "RFC 8985, section 4");
        assert_eq!(flight.next_lost(MSS), Some((Seq(0), Seq(1000))));
    }

    #[test]
    fn late_ones_widen_the_window() {
        let mut flight = five();
        flight.was_late();
        assert_eq!(flight.reordering_window(MSS, true, Some(40), Some(400)), 20);
        assert_eq!(flight.reordering_window(MSS, true, Some(40), Some(15)), 15, "at most a round trip");
        (0..16).for_each(|_| flight.recovered());
        assert_eq!(flight.reordering_window(MSS, true, Some(40), Some(400)), 10);
    }

    #[test]
    fn a_block_outside_of_what_was_sent_is_not_believed() {
        let mut flight = five();
        ack(&mut flight, 50, 1000, &[(0, 1000), (500, 2000), (6000, 7000), (4000, 5001), (3000, 2000), (2000, 2000)]);
        assert_eq!((flight.sacked(), flight.flying()), (0, 4000));
    }

    #[test]
    fn a_time_out_loses_all_and_may_be_for_nothing() {
        let mut flight = five();
        ack(&mut flight, 50, 0, &[(3000, 4000)]);
        flight.lose_all(false);
        assert_eq!((flight.lost(), flight.flying()), (4000, 0));
        flight.sent_again(60 * MILLISECOND, Seq(0), Seq(1000));
        assert!(!ack(&mut flight, 61, 1000, &[]).original);
        assert!(ack(&mut flight, 61, 2000, &[]).original, "nobody has sent that again");
        flight.find_again();
        assert_eq!((flight.lost(), flight.flying(), flight.sacked()), (0, 2000, 1000));
        flight.lose_all(true);
        assert_eq!((flight.lost(), flight.sacked()), (3000, 0), "RFC 2018, section 8");
    }

    #[test]
    fn what_is_forgotten_was_not_sent() {
        let mut flight = five();
        ack(&mut flight, 50, 0, &[(4000, 5000)]);
        flight.lose_first(MSS);
        flight.forget_from(Seq(2500));
        assert_eq!((flight.bytes(), flight.flying(), flight.lost(), flight.sacked()), (2500, 1500, 1000, 0));
        flight.forget_from(Seq(0));
        assert!(flight.is_empty() && flight.lost() == 0);
    }

    #[test]
    fn the_first_is_lost_without_sack() {
        let mut flight = five();
        flight.lose_first(600);
        assert_eq!((flight.lost(), flight.next_lost(MSS)), (600, Some((Seq(0), Seq(600)))));
        assert_eq!(flight.tail(300), Some((Seq(4700), Seq(5000))));
    }
}
