//! From the programs: what each has sent is checked, and goes to the port, to other interfaces, or both.

use super::into::Frame;
use super::policy::tag_of;
use super::{Guests, Seat};
use crate::adapter::{Inside, is_notification};
use linerate_port::Link;
use linerate_port::switch::{Leave, Vlans, retag};
use linerate_ring::{Gathered, Meta, RxBatch, flags};

/// Longest frame: a super-frame of 64 KiB with its headers and tags.
const LONGEST: usize = 65_536 + 64;
/// Shortest frame: an Ethernet header.
const SHORTEST: usize = 14;

/// Fate of one frame.
enum Came {
    /// It is finished with.
    Done,
    /// It waits, in its sender's ring.
    Waits,
}

/// Frames in a batch, of slots that are neither void nor bad.
fn frames_in(batch: &mut RxBatch<'_>) -> u64 {
    let n = batch.len();
    (0..n).filter(|i| batch.look(*i).is_ok_and(|(_, word)| word & flags::MOREFRAG == 0)).count() as u64
}

impl Guests {
    /// Takes the frames that the program at an interface has sent, until one has to wait; true if there were any. `anew`: it
    /// is looked at for the first time in this turn.
    pub(super) fn serve(&mut self, vi: usize, anew: bool) -> bool {
        // The seat is taken out, so that its frames can go to all others.
        let Some(mut seat) = self.desk.places[vi].seat.take_if(|seat| anew || seat.blocked) else { return false };
        let mut worked = false;
        if anew {
            seat.guest.rx.iter_mut().for_each(|rx| rx.sync());
        }
        if seat.rests <= self.now {
            seat.blocked = false;
            for queue in 0..seat.guest.rx.len() {
                if !seat.blocked {
                    worked |= self.take(vi, &mut seat, queue);
                }
            }
            if !seat.blocked {
                self.tx.drained(vi);
            }
            if let Some(due) = self.tx.due(vi).filter(|_| seat.blocked) {
                seat.rests = due + self.tx.slack(vi);
            }
        }
        self.desk.places[vi].seat = Some(seat);
        worked
    }

    /// Takes the frames of one queue.
    fn take(&mut self, vi: usize, seat: &mut Seat, queue: usize) -> bool {
        let (parted, blocked) = (seat.guest.link() == Link::Down, &mut seat.blocked);
        let mut batch = seat.guest.rx[queue].ring.batch(u32::MAX);
        let mut frame = std::mem::take(&mut self.frame);
        let mut at = 0;
        while at < batch.len() {
            frame.clear();
            let slots = match batch.gather(at, LONGEST, &mut frame) {
                Gathered::Later => break,
                Gathered::Whole { slots } => {
                    if let Came::Waits = self.carry(vi, &frame, batch.meta(at)) {
                        *blocked = true;
                        break;
                    }
                    slots
                }
                // Void, or a bad slot, which the ring has counted; otherwise a frame of too many slots.
                Gathered::Spoiled { slots } => {
                    let count = &mut self.desk.places[vi].count;
                    count.sent += u64::from(slots > 1);
                    count.broken += u64::from(slots > 1);
                    slots
                }
                Gathered::TooLong { slots } => {
                    let count = &mut self.desk.places[vi].count;
                    (count.sent, count.too_long) = (count.sent + 1, count.too_long + 1);
                    slots
                }
            };
            at += slots;
        }
        // The program has gone: the rest of its last frame will never come, and a port without a link has no room for it.
        let stuck = parted && at == 0 && !batch.is_empty();
        if stuck && (!*blocked || self.control.link() == Link::Down) {
            let count = &mut self.desk.places[vi].count;
            let (frames, counter) =
                if *blocked { (frames_in(&mut batch), &mut count.left) } else { (1, &mut count.broken) };
            *counter += frames;
            count.sent += frames;
            (at, *blocked) = (batch.len(), false);
        }
        batch.release(at);
        self.frame = frame;
        at > 0
    }

    /// Carries one frame.
    fn carry(&mut self, vi: usize, frame: &[u8], meta: Option<Meta>) -> Came {
        let place = &mut self.desk.places[vi];
        let mut refuse = |counter: fn(&mut super::GuestCounters) -> &mut u64| {
            place.count.sent += 1;
            *counter(&mut place.count) += 1;
            Came::Done
        };
        if frame.len() < SHORTEST {
            return refuse(|count| &mut count.too_short);
        }
        if place.policy.spoof_check && !place.own.iter().any(|own| frame[6..12] == own[..]) {
            return refuse(|count| &mut count.spoofed);
        }
        if self.desk.own.as_ref().is_some_and(|own| own.names(frame)) || is_notification(frame) {
            return refuse(|count| &mut count.reserved);
        }
        // A tag in the metadata would go past the check; an adapter for programs has no VLAN_HWTAGGING.
        let tag = tag_of(frame);
        let Some(vid) = place.policy.vlans.enter(tag).filter(|_| meta.is_none_or(|meta| meta.vlan_tci == 0)) else {
            return refuse(|count| &mut count.vlan);
        };
        let inside = self.rx.first().and_then(|rx| rx.inside(vi, frame));
        let here = |to: &usize| *to != vi && self.desk.takes(*to, vid, tag) != Leave::Not;
        let stays = inside.is_some_and(|inside| inside.owners().any(|to| here(&to)));
        if !stays && !self.send(vi, frame, meta, Vlans::default().leave(vid, tag), tag) {
            return Came::Waits;
        }
        if stays && !self.tx.spend(vi, frame.len()) {
            return Came::Waits;
        }
        let count = &mut self.desk.places[vi].count;
        count.sent += 1;
        count.sent_bytes += frame.len() as u64;
        *(if stays { &mut count.stayed } else { &mut count.to_port }) += 1;
        if let Some(inside) = inside {
            self.copy(vi, inside, frame, meta, vid, tag);
        }
        Came::Done
    }

    /// Gives a frame to the port; false if it has to wait.
    fn send(&mut self, vi: usize, frame: &[u8], mut meta: Option<Meta>, leave: Leave, tag: Option<u16>) -> bool {
        if leave == Leave::AsItCame {
            return self.tx.send(vi, frame, &[], meta);
        }
        retag(&mut self.changed, frame, &mut meta, leave, tag.is_some());
        self.tx.send(vi, &self.changed, &[], meta)
    }

    /// Copies a frame to the other interfaces that it is for.
    fn copy(&mut self, from: usize, inside: Inside, frame: &[u8], meta: Option<Meta>, vid: u16, tag: Option<u16>) {
        for to in inside.takers() {
            let leave = self.desk.takes(to, vid, tag);
            if leave == Leave::Not {
                continue;
            }
            self.desk.places[from].count.copies += 1;
            self.desk.places[to].count.from_inside += 1;
            let mut meta = meta;
            let whole = if leave == Leave::AsItCame {
                frame
            } else {
                retag(&mut self.changed, frame, &mut meta, leave, tag.is_some());
                &self.changed
            };
            self.desk.put(to, inside.queue(), &mut Frame::Whole(whole), meta.unwrap_or_default());
        }
    }
}
