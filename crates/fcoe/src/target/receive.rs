//! FCP_DATA from the initiator: each byte goes from the frame to the device server's memory or buffer, or is dropped.

use super::exchange::{ExchangeIndex, Place, Receiving, State, Which};
use super::{Target, TargetDrop};
use crate::{DeviceServer, Peer};
use linerate_wire::{FcoeFrame, RxId, Sof, f_ctl};

impl<S: DeviceServer> Target<S> {
    /// Processes a frame of data out (FCP-4, clause 9.4). It is accepted only when it is the next one of the requested
    /// burst: then its bytes are stored. After a missing frame none is accepted, the command does not complete, and the
    /// initiator finds that out (FCP-4, clause 12.4: REC, then SRR or ABTS).
    pub(super) fn data(&mut self, now: u64, peer: &Peer, frame: &FcoeFrame<'_>) -> Result<(), TargetDrop> {
        let (header, payload) = (frame.header(), frame.payload());
        // FCP_XFER_RDY has given our RX_ID: without it, or with another, the data belongs to another exchange.
        let named = header.rx_id != RxId::UNASSIGNED;
        let place = self.table.find(peer.id, header.ox_id, header.rx_id).filter(|_| named);
        let place = place.ok_or(TargetDrop::UnknownExchange)?;
        let exchange = self.table.at_mut(place);
        let State::Receiving(receiving) = &mut exchange.state else { return Err(TargetDrop::UnaskedData) };
        let end = receiving.next(frame)?;
        match &mut receiving.into {
            Place::Buffer(buffer) => {
                let bytes = buffer.bytes_mut().get_mut(receiving.received as usize..end as usize);
                bytes.ok_or(TargetDrop::Beyond)?.copy_from_slice(payload);
            }
            Place::Memory(offset) => {
                let offset = offset.saturating_add(u64::from(receiving.received));
                match self.device.memory(place.tag()) {
                    Some(memory) => memory.write(offset, payload),
                    None => {
                        self.device.abort(place.tag(), None);
                        self.fail(place);
                        return Ok(());
                    }
                }
            }
            Place::Nowhere => {}
        }
        receiving.received = end;
        receiving.sequence = Some((header.seq_id, header.seq_cnt.wrapping_add(1)));
        exchange.moved = exchange.moved.max(end);
        exchange.deadline = now.saturating_add(self.config.patience);
        let (all, burst) = (end == receiving.len, end == receiving.burst_end);
        self.counters.bytes_received += payload.len() as u64;
        if let Some(known) = self.peer_mut(peer.id) {
            known.bytes_received += payload.len() as u64;
        }
        if all {
            self.received(now, place);
        } else if burst {
            self.next_burst(place);
        }
        Ok(())
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

impl Receiving {
    /// Prepares to ask for a burst from this byte on.
    pub(super) fn ask(&mut self, from: u32, burst: u32) {
        self.received = from;
        self.burst_end = from.saturating_add(burst).min(self.len);
        (self.asked, self.sequence) = (false, None);
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
