//! Transmission: FCP_XFER_RDY, FCP_DATA and FCP_RSP, as there is room, each exchange in turn.

use super::Target;
use super::exchange::{Exchange, ExchangeIndex, Place, State, Which};
use crate::{DeviceServer, Peer, Sequence, Transmit};
use linerate_block::Memory;
use linerate_wire::{FcHeader, FcType, FcpResponse, FcpTransferReady, f_ctl, r_ctl};

/// Most pieces of memory sent with one call.
const PIECES: usize = 8;
/// Bytes of payload in the longest frame.
pub(super) const MAX_PAYLOAD: usize = 2112;

/// Outcome of an exchange's turn.
enum Turn {
    /// No more frames to send now.
    Over,
    /// More frames to send; the next exchange's turn.
    More,
    /// There is no room; `sent`: a frame was sent before.
    Blocked { sent: bool },
}

impl<S: DeviceServer> Target<S> {
    /// Sends the ready frames while there is room, and those of tasks released by that.
    pub(super) fn transmit(&mut self, now: u64, out: &mut impl Transmit) {
        self.send_all(now, out);
        while std::mem::take(&mut self.woken) {
            self.advance(now);
            self.send_all(now, out);
        }
    }

    /// Sends replies of one frame first, then a turn for each exchange.
    fn send_all(&mut self, now: u64, out: &mut impl Transmit) {
        if !self.send_replies(out) {
            return;
        }
        while let Some(place) = self.table.first(Which::Ready) {
            if out.room() == 0 {
                return;
            }
            let Some(known) = self.peer(self.table.at(place).peer) else {
                // `down` has ended all exchanges of a peer that is gone.
                self.end(place);
                continue;
            };
            let peer = known.peer;
            match self.turn(now, place, &peer, out) {
                Turn::Over => {}
                Turn::More => self.table.append(Which::Ready, place),
                Turn::Blocked { sent } => {
                    if sent {
                        self.table.append(Which::Ready, place);
                    }
                    return;
                }
            }
        }
    }

    fn turn(&mut self, now: u64, place: ExchangeIndex, peer: &Peer, out: &mut impl Transmit) -> Turn {
        match &self.table.at(place).state {
            State::Receiving(_) => return self.send_ready(now, place, peer, out),
            State::Answering(answering) if answering.sent < answering.len => {
                match self.send_data(place, peer, out) {
                    Some(Turn::Over) => {}
                    Some(turn) => return turn,
                    // The failure is answered in a turn of its own.
                    None => return Turn::More,
                }
            }
            State::Answering(_) => {}
            State::Free | State::Working | State::Aborted => {
                self.table.remove(place);
                return Turn::Over;
            }
        }
        self.send_response(now, place, peer, out)
    }

    /// Sends the next frames of data in. `Over` when all of it was sent; None when it could not be read.
    fn send_data(&mut self, place: ExchangeIndex, peer: &Peer, out: &mut impl Transmit) -> Option<Turn> {
        let Self { device, table, config, counters, scratch, .. } = self;
        let exchange = table.at_mut(place);
        let base = header(peer, exchange, r_ctl::DATA);
        let State::Answering(answering) = &mut exchange.state else { return Some(Turn::Over) };
        let left = (answering.len - answering.sent) as usize;
        let wanted = left.min(usize::from(config.turn) * peer.max_payload);
        let (start, seq_cnt) = (!answering.begun, answering.seq_cnt);
        let seq_id = exchange.seq_id.wrapping_add(u8::from(start));
        let (link, max_payload, sent) = (peer.link, peer.max_payload, answering.sent);
        // Bytes that there are, and the number of frames that were made of them.
        let mut send = |payload: &[&[u8]], offered: usize| {
            let end = offered == left;
            let ends = if end { f_ctl::END_SEQUENCE } else { 0 };
            let f_ctl = f_ctl::EXCHANGE_RESPONDER | f_ctl::RELATIVE_OFFSET | ends;
            let header = FcHeader { f_ctl, seq_id, seq_cnt, parameter: sent, ..base };
            let frames = match offered {
                0 => 0,
                _ => out.sequence(&Sequence { link, header, max_payload, start, end, payload }),
            };
            (offered, frames)
        };
        let (offered, frames) = match &answering.from {
            Place::Buffer(buffer) => {
                let start = sent as usize;
                let piece = buffer.bytes().get(start..start + wanted).unwrap_or_default();
                send(&[piece], piece.len())
            }
            Place::Memory(offset) => {
                let offset = offset + u64::from(sent);
                let gathered = device.with_memory(place.tag(), |memory| {
                    let mut pieces: [&[u8]; PIECES] = [&[]; PIECES];
                    let offered = gather(memory, offset, wanted, wanted == left, max_payload, &mut pieces, scratch);
                    send(&pieces, offered)
                });
                gathered.unwrap_or((0, 0))
            }
            Place::Nowhere => (0, 0),
        };
        if offered == 0 {
            self.woken |= self.device.sent(place.tag());
            self.fail(place);
            return None;
        }
        let bytes = offered.min(frames.saturating_mul(max_payload));
        if bytes == 0 {
            return Some(Turn::Blocked { sent: false });
        }
        // No more is offered than is left to send.
        let left = answering.len - answering.sent;
        let moved = u32::try_from(bytes).map_or(left, |bytes| bytes.min(left));
        answering.sent += moved;
        answering.begun = true;
        // SEQ_CNT wraps (FC-FS-3, sequence count).
        answering.seq_cnt = seq_cnt.wrapping_add(u16::try_from(frames & 0xffff).unwrap_or_default());
        exchange.seq_id = seq_id;
        exchange.moved = exchange.moved.max(answering.sent);
        let all = answering.sent == answering.len;
        counters.bytes_sent += u64::from(moved);
        if let Some(known) = self.peer_mut(peer.id) {
            known.bytes_sent += u64::from(moved);
        }
        Some(match (all, bytes < offered) {
            (true, _) => Turn::Over,
            (false, true) => Turn::Blocked { sent: true },
            (false, false) => Turn::More,
        })
    }

    /// Sends FCP_RSP (FCP-4, clause 9.5): the exchange's last sequence, unless a confirmation is requested.
    fn send_response(&mut self, now: u64, place: ExchangeIndex, peer: &Peer, out: &mut impl Transmit) -> Turn {
        let exchange = self.table.at_mut(place);
        let response = &exchange.response;
        let sense = response.sense.get(..usize::from(response.sense_len)).unwrap_or(&response.sense);
        let confirm = peer.confirm && !sense.is_empty();
        let wanted = 0_i64.saturating_add_unsigned(response.wanted);
        let unit = FcpResponse {
            status: response.status,
            residual: wanted - i64::from(exchange.data_len),
            confirm,
            sense,
            ..FcpResponse::default()
        };
        let mut bytes = [0; FcpResponse::LEN + 32];
        let Ok(len) = unit.emit(&mut bytes) else { return Turn::Over };
        let ends = if confirm { f_ctl::SEQUENCE_INITIATIVE } else { f_ctl::LAST_SEQUENCE };
        let header = FcHeader {
            f_ctl: f_ctl::EXCHANGE_RESPONDER | f_ctl::END_SEQUENCE | ends,
            seq_id: exchange.seq_id.wrapping_add(1),
            ..header(peer, exchange, r_ctl::STATUS)
        };
        if !send_frame(peer, header, &bytes[..len], out) {
            return Turn::Blocked { sent: false };
        }
        exchange.seq_id = header.seq_id;
        self.counters.responses += 1;
        self.table.remove(place);
        self.finish(now, place, peer, confirm);
        Turn::Over
    }

    /// Sends FCP_XFER_RDY (FCP-4, clause 9.3) for the next burst.
    fn send_ready(&mut self, now: u64, place: ExchangeIndex, peer: &Peer, out: &mut impl Transmit) -> Turn {
        let exchange = self.table.at_mut(place);
        let seq_id = exchange.seq_id.wrapping_add(1);
        let base = header(peer, exchange, r_ctl::DATA_DESCRIPTOR);
        let State::Receiving(receiving) = &mut exchange.state else { return Turn::Over };
        let ready = FcpTransferReady { offset: receiving.received, len: receiving.burst_end - receiving.received };
        let f_ctl = f_ctl::EXCHANGE_RESPONDER | f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE;
        if !send_frame(peer, FcHeader { f_ctl, seq_id, ..base }, &ready.bytes(), out) {
            return Turn::Blocked { sent: false };
        }
        receiving.asked = true;
        exchange.seq_id = seq_id;
        exchange.deadline = now.saturating_add(self.config.patience);
        self.counters.transfer_readies += 1;
        self.table.remove(place);
        Turn::Over
    }
}

/// Header of a frame of ours, with the fields that are the same in all frames of the exchange.
fn header(peer: &Peer, exchange: &Exchange, r_ctl: u8) -> FcHeader {
    FcHeader {
        r_ctl,
        d_id: peer.fc_id,
        cs_ctl: 0,
        s_id: peer.own,
        fc_type: FcType::FCP,
        f_ctl: 0,
        seq_id: 0,
        df_ctl: 0,
        seq_cnt: 0,
        ox_id: exchange.ox_id,
        rx_id: exchange.rx_id,
        parameter: 0,
    }
}

/// Sends a sequence of one frame; false when there was no room.
fn send_frame(peer: &Peer, header: FcHeader, payload: &[u8], out: &mut impl Transmit) -> bool {
    let (link, max_payload, payload) = (peer.link, peer.max_payload, &[payload][..]);
    out.sequence(&Sequence { link, header, max_payload, start: true, end: true, payload }) > 0
}

/// Collects pieces of a device's memory: `wanted` bytes, or fewer that fill frames of `max_payload`; all of them when
/// they are the `last`. Where memory lies in pieces too small for a frame, one frame is copied to `scratch`. Returns
/// the number of bytes; zero when the device has none.
fn gather<'a>(
    memory: &'a dyn Memory,
    offset: u64,
    wanted: usize,
    last: bool,
    max_payload: usize,
    pieces: &mut [&'a [u8]; PIECES],
    scratch: &'a mut [u8; MAX_PAYLOAD],
) -> usize {
    let read = |done: usize, len: usize| {
        let piece = memory.read(offset.saturating_add(done as u64), len);
        &piece[..piece.len().min(len)]
    };
    let mut total = 0;
    for piece in pieces.iter_mut() {
        *piece = read(total, wanted - total);
        total += piece.len();
        if piece.is_empty() || total == wanted {
            break;
        }
    }
    if last && total == wanted {
        return total;
    }
    let frames = total - total % max_payload;
    if frames > 0 {
        let mut left = frames;
        for piece in pieces.iter_mut() {
            *piece = &piece[..piece.len().min(left)];
            left -= piece.len();
        }
        return frames;
    }
    let frame = wanted.min(max_payload);
    let mut done = 0;
    while done < frame {
        let piece = read(done, frame - done);
        if piece.is_empty() {
            return 0;
        }
        scratch[done..done + piece.len()].copy_from_slice(piece);
        done += piece.len();
    }
    *pieces = [&[]; PIECES];
    pieces[0] = &scratch[..frame];
    frame
}
