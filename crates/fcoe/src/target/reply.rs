//! Sequences of one frame that belong to no exchange of the table: rejects, and link services and their replies.

use super::{Target, TargetDrop};
use crate::{DeviceServer, Peer, PeerId, Sequence, Transmit};
use linerate_wire::{FcHeader, FcType, FcpResponse, RxId, f_ctl};
use std::collections::VecDeque;

/// Most replies that wait for room; more are dropped, since the sender will repeat its request.
const MAX: usize = 256;
/// Bytes of FCP_RSP with response information.
const MAX_LEN: usize = FcpResponse::LEN + 8;

/// F_CTL of the frame that ends an exchange as its responder.
const LAST: u32 = f_ctl::EXCHANGE_RESPONDER | f_ctl::LAST_SEQUENCE | f_ctl::END_SEQUENCE;

#[derive(Debug)]
struct Reply {
    peer: PeerId,
    header: FcHeader,
    payload: [u8; MAX_LEN],
    len: usize,
}

/// Replies that wait for room, in order.
#[derive(Debug)]
pub(super) struct Replies(VecDeque<Reply>);

impl Replies {
    pub(super) fn new() -> Self {
        Self(VecDeque::with_capacity(MAX))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<S: DeviceServer> Target<S> {
    /// Replies to a link service request: the reply's exchange is the request's, and ends.
    pub(super) fn answer(
        &mut self,
        peer: &Peer,
        request: &FcHeader,
        r_ctl: u8,
        fc_type: FcType,
        rx_id: RxId,
        payload: &[u8],
    ) {
        let f_ctl = LAST | f_ctl::SEQUENCE_INITIATIVE;
        self.reply(peer, FcHeader { r_ctl, fc_type, f_ctl, rx_id, ..*request }, payload);
    }

    /// Answers FCP_CMND without an exchange: this FCP_RSP is the only frame.
    pub(super) fn respond(&mut self, peer: &Peer, command: &FcHeader, response: &FcpResponse<'_>) {
        let mut payload = [0; MAX_LEN];
        if let Ok(len) = response.emit(&mut payload) {
            let r_ctl = linerate_wire::r_ctl::STATUS;
            self.reply(peer, FcHeader { r_ctl, f_ctl: LAST, seq_id: 1, ..*command }, &payload[..len]);
        }
    }

    /// Sends a frame of ours when there is room.
    pub(super) fn reply(&mut self, peer: &Peer, header: FcHeader, bytes: &[u8]) {
        if self.replies.0.len() == MAX {
            return self.counters.drop(TargetDrop::NoRoom);
        }
        let header =
            FcHeader { d_id: peer.fc_id, s_id: peer.own, cs_ctl: 0, df_ctl: 0, seq_cnt: 0, parameter: 0, ..header };
        let mut payload = [0; MAX_LEN];
        payload[..bytes.len()].copy_from_slice(bytes);
        self.replies.0.push_back(Reply { peer: peer.id, header, payload, len: bytes.len() });
    }

    /// Sends waiting replies, except to peers that are gone; false when there was no room for all.
    pub(super) fn send_replies(&mut self, out: &mut impl Transmit) -> bool {
        while let Some(reply) = self.replies.0.front() {
            if let Some(known) = self.peer(reply.peer) {
                let peer = &known.peer;
                let payload: &[&[u8]] = &[&reply.payload[..reply.len]];
                let (link, max_payload) = (peer.link, peer.max_payload);
                let sequence = Sequence { link, header: reply.header, max_payload, start: true, end: true, payload };
                if out.sequence(&sequence) == 0 {
                    return false;
                }
            }
            self.replies.0.pop_front();
        }
        true
    }
}
