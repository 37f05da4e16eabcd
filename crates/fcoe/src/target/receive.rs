//! FCP_DATA from the initiator: each byte goes from the frame to the device server's memory or buffer, or is dropped.

use super::early::Early;
use super::exchange::{ExchangeIndex, Place, Receiving, State, Which};
use super::{Target, TargetDrop};
use crate::{DeviceServer, Peer};
use linerate_block::Tag;
use linerate_wire::{FcoeFrame, RxId, Sof, f_ctl};

impl<S: DeviceServer> Target<S> {
    /// Processes a frame of data out (FCP-4, clause 9.4). The next one of the requested burst is stored; one that comes
    /// early is, too, if it is certain where it belongs (see `early`). A missing frame keeps the command from completing,
    /// and the initiator finds that out (FCP-4, clause 12.4: REC, then SRR or ABTS).
    pub(super) fn data(&mut self, now: u64, peer: &Peer, frame: &FcoeFrame<'_>) -> Result<(), TargetDrop> {
        let (header, payload) = (frame.header(), frame.payload());
        // FCP_XFER_RDY has given our RX_ID: without it, or with another, the data belongs to another exchange.
        let named = header.rx_id != RxId::UNASSIGNED;
        let place = self.table.find(peer.id, header.ox_id, header.rx_id).filter(|_| named);
        let place = place.ok_or(TargetDrop::UnknownExchange)?;
        let exchange = self.table.at_mut(place);
        let State::Receiving(receiving) = &mut exchange.state else { return Err(TargetDrop::UnaskedData) };
        let end = match receiving.next(frame) {
            Ok(end) => end,
            Err(reason) => return self.not_next(peer, place, frame, reason),
        };
        if !receiving.into.store(&mut self.device, place.tag(), receiving.received, payload)? {
            self.without_memory(place);
            return Ok(());
        }
        receiving.size = end - receiving.received;
        receiving.received = end;
        receiving.sequence = Some((header.seq_id, header.seq_cnt.wrapping_add(1)));
        if !receiving.early.is_empty() {
            receiving.catch_up(frame);
        }
        let end = receiving.received;
        exchange.moved = exchange.moved.max(end);
        exchange.deadline = now.saturating_add(self.config.patience);
        let (all, burst) = (end == receiving.len, end == receiving.burst_end);
        self.count_received(peer, payload);
        if all {
            self.received(now, place);
        } else if burst {
            self.next_burst(place);
        }
        Ok(())
    }

    pub(super) fn count_received(&mut self, peer: &Peer, payload: &[u8]) {
        self.counters.bytes_received += payload.len() as u64;
        if let Some(known) = self.peer_mut(peer.id) {
            known.bytes_received += payload.len() as u64;
        }
    }

    /// Ends a command whose memory the device server does not have any more.
    #[cold]
    pub(super) fn without_memory(&mut self, place: ExchangeIndex) {
        self.device.abort(place.tag(), None);
        self.fail(place);
    }

    fn received(&mut self, now: u64, place: ExchangeIndex) {
        let exchange = self.table.at_mut(place);
        exchange.deadline = u64::MAX;
        if let State::Receiving(receiving) = std::mem::replace(&mut exchange.state, State::Working) {
            let step = self.device.received(now, place.tag(), receiving.into.into_buffer());
            self.step(now, place, step);
        }
    }

    fn next_burst(&mut self, place: ExchangeIndex) {
        let burst = self.config.burst;
        if let State::Receiving(receiving) = &mut self.table.at_mut(place).state {
            receiving.ask(receiving.received, burst);
            self.table.append(Which::Ready, place);
        }
    }
}

impl Place {
    /// Stores a frame's payload at this offset in a command's data. False when the unit's memory is gone.
    #[inline]
    pub(super) fn store<S: DeviceServer>(
        &mut self,
        device: &mut S,
        tag: Tag,
        offset: u32,
        payload: &[u8],
    ) -> Result<bool, TargetDrop> {
        match self {
            Self::Buffer(buffer) => {
                let bytes =
                    buffer.bytes_mut().get_mut(offset as usize..).and_then(|rest| rest.get_mut(..payload.len()));
                bytes.ok_or(TargetDrop::Beyond)?.copy_from_slice(payload);
            }
            Self::Memory(start) => {
                let at = start.saturating_add(u64::from(offset));
                return Ok(device.with_memory(tag, |memory| memory.write(at, payload)).is_some());
            }
            Self::Nowhere => {}
        }
        Ok(true)
    }
}

impl Receiving {
    /// Prepares to ask for a burst from this byte on.
    pub(super) fn ask(&mut self, from: u32, burst: u32) {
        self.received = from;
        self.burst_end = from.saturating_add(burst).min(self.len);
        self.asked = false;
        self.begin();
    }

    /// Prepares for the sequence that answers FCP_XFER_RDY.
    pub(super) fn begin(&mut self) {
        let seq_id = self.sequence.take().map(|(seq_id, _)| seq_id);
        self.before = seq_id.or(self.early.seq_id()).or(self.before);
        self.early = Early::default();
    }

    /// End of the data in this frame, if it is the next one.
    fn next(&self, frame: &FcoeFrame<'_>) -> Result<u32, TargetDrop> {
        let (header, payload) = (frame.header(), frame.payload());
        if !self.asked {
            return Err(TargetDrop::UnaskedData);
        }
        if !header.has(f_ctl::RELATIVE_OFFSET) || payload.is_empty() {
            return Err(TargetDrop::NoOffset);
        }
        // SOFi3 begins a sequence and SOFn3 goes on with it, SEQ_CNT counting its frames (FC-FS-3, sequence management).
        let follows = match self.sequence {
            None => frame.sof() == Sof::I3,
            Some(next) => frame.sof() == Sof::N3 && (header.seq_id, header.seq_cnt) == next,
        };
        if header.parameter < self.received {
            return Err(TargetDrop::Overlap);
        }
        if header.parameter > self.received {
            return Err(TargetDrop::Gap);
        }
        if !follows {
            return Err(TargetDrop::OutOfSequence);
        }
        let len = u32::try_from(payload.len()).map_err(|_| TargetDrop::Beyond)?;
        let end = self.received.checked_add(len).filter(|end| *end <= self.burst_end).ok_or(TargetDrop::Beyond)?;
        // The burst is one sequence, no longer and no shorter (FCP-4, clause 9.3).
        if header.has(f_ctl::END_SEQUENCE) != (end == self.burst_end) {
            return Err(TargetDrop::WrongEnd);
        }
        Ok(end)
    }
}
