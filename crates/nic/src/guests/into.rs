//! Into the programs' rings: frames from the port, and copies of what other programs send.

use super::Seat;
use super::ledger::{Fate, GuestCounters};
use super::own::Own;
use super::policy::{GuestPolicy, from_port, tag_of};
use crate::adapter::RxFrame;
use linerate_offload::{Sink, TAG_LEN, Verdict, tag_inserted, tag_stripped};
use linerate_port::switch::{Guest, Leave};
use linerate_port::{DropReason, Drops, Link, SlotWriter};
use linerate_ring::Meta;

/// Offset of a tag in a frame.
const TAG: usize = 12;

/// The programs, each at its place: one place for each interface of the adapter.
pub(super) struct Desk {
    pub(super) places: Vec<Place>,
    pub(super) own: Option<Own>,
}

/// Place of an interface.
#[derive(Default)]
pub(super) struct Place {
    pub(super) seat: Option<Seat>,
    /// There is this interface.
    pub(super) exists: bool,
    pub(super) policy: GuestPolicy,
    /// Addresses that its program may send from.
    pub(super) own: Vec<[u8; 6]>,
    pub(super) count: GuestCounters,
    /// Fate of the frames of programs that have gone.
    gone: Fate,
    /// Drops that its present program has been told, and those before it came.
    told: Drops,
    before: Drops,
}

/// A frame to be put into a ring.
pub(super) enum Frame<'f, 'r> {
    Whole(&'f [u8]),
    Received(RxFrame<'r>, Leave),
}

impl Place {
    /// Fate of all frames that were put into rings here.
    pub(super) fn fate(&self) -> Fate {
        let mut fate = self.gone;
        if let Some(seat) = &self.seat {
            fate += Fate::of(&seat.guest);
        }
        fate
    }

    /// Frames that were for its program and found no way to it.
    fn dropped(&self) -> Drops {
        let mut drops = Drops::default();
        drops.add(DropReason::NoRoom, self.count.no_room);
        drops.add(DropReason::TooLong, self.count.too_long_in);
        drops
    }
}

impl Desk {
    pub(super) fn new(interfaces: usize) -> Self {
        Self { places: (0..interfaces).map(|_| Place::default()).collect(), own: None }
    }

    /// Places with a program.
    pub(super) fn live(&self) -> Vec<usize> {
        (0..self.places.len()).filter(|vi| self.places[*vi].seat.is_some()).collect()
    }

    /// Gives a program its place; false if there is no such place, or it is taken.
    pub(super) fn seat(&mut self, vi: usize, guest: Guest) -> bool {
        let Some(place) = self.places.get_mut(vi).filter(|place| place.seat.is_none()) else { return false };
        place.seat = Some(Seat { guest, blocked: false, rests: 0, touched: true, synced: false });
        (place.before, place.told) = (place.dropped(), Drops::default());
        true
    }

    /// True if a place's program has gone, and all that it had sent is taken.
    pub(super) fn is_gone(&self, vi: usize) -> bool {
        let Some(seat) = &self.places[vi].seat else { return false };
        seat.guest.link() == Link::Down && !seat.blocked && seat.guest.rx.iter().all(|rx| rx.ring.available() == 0)
    }

    /// Empties a place.
    pub(super) fn leave(&mut self, vi: usize) {
        let place = &mut self.places[vi];
        let Some(mut seat) = place.seat.take() else { return };
        // The last sync counts the frames that the other end took.
        seat.guest.tx.iter_mut().for_each(|tx| tx.sync());
        let mut fate = Fate::of(&seat.guest);
        fate.bad += seat.guest.rx.iter().map(|rx| rx.counters().dropped.total()).sum::<u64>();
        fate.part();
        place.gone += fate;
    }

    /// Form in which a frame of a VLAN that another program sent with this tag goes to a place's program.
    pub(super) fn takes(&self, vi: usize, vid: u16, tag: Option<u16>) -> Leave {
        self.places.get(vi).map_or(Leave::Not, |place| place.policy.vlans.leave(vid, tag))
    }

    /// Hands over a frame that the port delivered.
    pub(super) fn hand_over(&mut self, vi: usize, frame: RxFrame<'_>) {
        let place = &mut self.places[vi];
        place.count.from_port += 1;
        let leave = from_port(&place.policy, tag_of(frame.head()));
        let mut meta = frame.meta();
        if meta.checksum == Verdict::Good {
            meta.request.flags |= Meta::DATA_VALID;
        }
        let request = match leave {
            Leave::Not => {
                place.count.vlan_in += 1;
                return;
            }
            Leave::Bare => tag_stripped(meta.request),
            Leave::Tagged(_) if tag_of(frame.head()).is_none() => tag_inserted(meta.request),
            Leave::Tagged(_) | Leave::AsItCame => meta.request,
        };
        self.put(vi, meta.queue, &mut Frame::Received(frame, leave), request);
    }

    /// Puts a frame into a program's ring; what finds no room is dropped.
    pub(super) fn put(&mut self, vi: usize, queue: u16, frame: &mut Frame<'_, '_>, request: Meta) {
        let Place { seat, count, gone, .. } = &mut self.places[vi];
        let Some(seat) = seat.as_mut().filter(|seat| seat.guest.link() == Link::Up) else {
            match self.own.as_mut().filter(|own| own.interface == vi).map(|own| own.keep(frame.head())) {
                Some(true) => {
                    (count.put, count.put_bytes) = (count.put + 1, count.put_bytes + frame.len() as u64);
                    gone.carried += 1;
                }
                Some(false) => count.no_room += 1,
                None => count.no_program += 1,
            }
            return;
        };
        let queues = seat.guest.tx.len();
        let tx = &mut seat.guest.tx[usize::from(queue) % queues];
        let len = frame.len();
        let fits = len <= seat.guest.largest || request.gso_type != 0;
        let Some(slots) = SlotWriter::slots(&tx.ring, len).filter(|_| fits) else {
            count.too_long_in += 1;
            return;
        };
        if tx.ring.free() < slots && !seat.synced {
            // Once a turn: who takes nothing costs the others no more.
            tx.sync();
            seat.synced = true;
        }
        if tx.ring.free() < slots {
            count.no_room += 1;
            return;
        }
        let mut writer = SlotWriter::new(&mut tx.ring, slots);
        frame.write(&mut writer);
        writer.end(len, (request != Meta::default()).then_some(request));
        writer.commit();
        seat.touched = true;
        (count.put, count.put_bytes) = (count.put + 1, count.put_bytes + len as u64);
    }

    /// Publishes what was put into the programs' rings, and tells them of drops.
    pub(super) fn flush(&mut self) {
        for place in &mut self.places {
            let dropped = if place.seat.is_some() { place.dropped().since(&place.before) } else { continue };
            let Some(seat) = &mut place.seat else { continue };
            if dropped != place.told {
                seat.guest.tell_dropped(&dropped);
                (place.told, seat.touched) = (dropped, true);
            }
            if seat.touched || seat.guest.tx.iter().any(|tx| tx.ring.pending() > 0) {
                seat.guest.tx.iter_mut().for_each(|tx| tx.sync());
            }
            (seat.touched, seat.synced) = (false, false);
        }
    }
}

impl Frame<'_, '_> {
    /// Bytes of the frame as it is put.
    fn len(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::Received(frame, Leave::Bare) => frame.len() - TAG_LEN,
            Self::Received(frame, Leave::Tagged(_)) if tag_of(frame.head()).is_none() => frame.len() + TAG_LEN,
            Self::Received(frame, _) => frame.len(),
        }
    }

    /// Its first bytes, and all of a frame that is not merged.
    fn head(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Received(frame, _) => frame.head(),
        }
    }

    fn write(&mut self, to: &mut SlotWriter<'_>) {
        let (frame, leave) = match self {
            Self::Whole(bytes) => return to.put(0, bytes),
            Self::Received(frame, leave) => (frame, *leave),
        };
        let tagged = tag_of(frame.head()).is_some();
        let head = frame.head();
        let (addresses, rest) = head.split_at(TAG.min(head.len()));
        to.put(0, addresses);
        let mut at = addresses.len();
        if let Leave::Tagged(tci) = leave {
            let [a, b] = tci.to_be_bytes();
            to.put(at, &[0x81, 0, a, b]);
            at += TAG_LEN;
        }
        let skipped = if tagged && leave != Leave::AsItCame { TAG_LEN } else { 0 };
        to.put(at, &rest[skipped..]);
        at += rest.len() - skipped;
        frame.pieces(|piece| {
            to.put(at, piece);
            at += piece.len();
        });
    }
}
