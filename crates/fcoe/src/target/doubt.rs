//! FCP_CMND that may be a late twin of one that has ended.
//!
//! A network may deliver a frame twice, and an initiator may give an OX_ID again as soon as its exchange has ended, as
//! Linux does: what a late twin does would be taken for what the exchange does that has the OX_ID now, because an
//! initiator that has not been told our RX_ID cannot tell them apart. It would take the twin's data for its own, send
//! its own where the twin asks for data to write, or take the twin's GOOD. Nothing in the frame says that it is a twin.
//! So a command that is in every byte, OX_ID included, one of a moment ago is held back until its initiator has
//! answered REC (FC-LS-3, Read Exchange Concise) and frames that it overtook have had time to come.
//!
//! Initiators that read or write one block over and over send such commands rightly. They are asked once a second,
//! until the network was seen to double a frame.

use super::command::BUSY;
use super::{SECOND, Target, TargetDrop};
use crate::twin::WINDOW;
use crate::{DeviceServer, Peer, PeerId};
use linerate_wire::{FcHeader, FcpCommand, FcpResponse, OxId, RxId};

const MILLISECOND: u64 = 1_000_000;
/// Time for frames that others have overtaken, before its initiator is asked and after it has answered: another command of
/// its OX_ID proves one that is held back a twin.
const SETTLE: u64 = 10 * MILLISECOND;
/// Time after which an unanswered REC is sent again.
const REPEAT: u64 = 20 * MILLISECOND;
/// Time for which an initiator has not answered when it is taken for one that answers no REC.
const GIVE_UP: u64 = 100 * MILLISECOND;
/// Time between two questions to an initiator whose network has doubled no frame.
const PAUSE: u64 = SECOND;
/// Time for which a network that has doubled a frame is expected to do so again.
const WARY: u64 = 60 * SECOND;
/// Most commands that are held back, of all initiators and of one.
const MOST: usize = 64;
const MOST_OF_ONE: usize = 16;
/// Bytes of the longest FCP_CMND that is held back: with a CDB of 32 bytes.
const LONGEST: usize = FcpCommand::LEN + 16;
/// Places of OX_IDs for commands that are remembered, and commands of each: a cache line, and in turn the next one, since
/// initiators mostly count.
const PLACES: usize = 128;
const REMEMBERED: usize = 8;

/// Behaviour of one initiator's network.
#[derive(Debug, Clone, Copy, Default)]
struct Network {
    /// Time until which frames are expected to come twice.
    wary_until: u64,
    /// Time from which on an initiator whose network is not wary of twins is asked again.
    ask_at: u64,
    /// Command that was answered with BUSY: it may come again at once.
    excused: Option<u64>,
}

/// A command that is held back.
#[derive(Debug)]
struct Doubt {
    peer: PeerId,
    header: FcHeader,
    payload: [u8; LONGEST],
    len: usize,
    digest: u64,
    since: u64,
    /// Time at which the initiator has said that it knows an exchange of this OX_ID, or that it cannot say.
    known: Option<u64>,
    ask_at: u64,
}

impl Doubt {
    fn due(&self) -> u64 {
        self.known.map_or(self.ask_at, |at| at.saturating_add(SETTLE))
    }
}

/// Commands, the last one first: 40 bits of the key, and the time in units of 2^20 ns, which comes again after hours.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Recent([u64; REMEMBERED]);

impl Recent {
    const TIME: u32 = 24;

    /// Remembers a command instead of the oldest; true if the same came within [`WINDOW`].
    #[inline]
    fn note(&mut self, now: u64, key: u64) -> bool {
        let mask = (1 << Self::TIME) - 1;
        let now = now >> 20 & mask;
        let key = key & !mask;
        let is_same = |known: &u64| known & !mask == key && (now.wrapping_sub(*known) & mask) < WINDOW >> 20;
        let again = self.0.iter().filter(|known| is_same(known)).count() > 0;
        self.0.copy_within(..REMEMBERED - 1, 1);
        self.0[0] = key | now;
        again
    }
}

/// Commands of a moment ago, and those that are held back.
#[derive(Debug)]
pub(super) struct Doubts {
    /// The last commands by their OX_IDs.
    recent: Box<[Recent]>,
    networks: Box<[Network]>,
    held: Vec<Doubt>,
}

impl Doubts {
    pub(super) fn new(max_peers: u16) -> Self {
        Self {
            recent: vec![Recent([0; REMEMBERED]); PLACES].into_boxed_slice(),
            networks: vec![Network::default(); usize::from(max_peers)].into_boxed_slice(),
            held: Vec::with_capacity(MOST),
        }
    }

    /// Time at which a command that is held back has work to do.
    pub(super) fn due(&self) -> Option<u64> {
        self.held.iter().map(Doubt::due).min()
    }

    /// Forgets what is held back for a peer that logs in or has gone, and what is known of its network.
    pub(super) fn forget(&mut self, peer: PeerId) {
        self.drop_all_of(peer);
        if let Some(network) = self.networks.get_mut(usize::from(peer.index)) {
            *network = Network::default();
        }
    }

    /// Drops what is held back of a peer: task management has ended its commands.
    pub(super) fn drop_all_of(&mut self, peer: PeerId) {
        self.held.retain(|doubt| doubt.peer != peer);
    }

    /// Drops what is held back under an OX_ID; true if there was such a command.
    pub(super) fn drop_one(&mut self, peer: PeerId, ox_id: OxId) -> bool {
        let before = self.held.len();
        self.held.retain(|doubt| (doubt.peer, doubt.header.ox_id) != (peer, ox_id));
        self.held.len() < before
    }

    /// Notes that a frame of the peer came twice.
    pub(super) fn doubled(&mut self, now: u64, peer: PeerId) {
        if let Some(network) = self.networks.get_mut(usize::from(peer.index)) {
            network.wary_until = now.saturating_add(WARY);
        }
    }

    /// Lets a command that was refused come again at once.
    pub(super) fn excuse(&mut self, peer: PeerId, ox_id: OxId, digest: u64) {
        if let Some(network) = self.networks.get_mut(usize::from(peer.index)) {
            network.excused = Some(key(peer, ox_id, digest));
        }
    }

    /// Remembers a command; true if it is to be held back.
    #[inline]
    fn is_doubtful(&mut self, now: u64, peer: PeerId, ox_id: OxId, key: u64) -> bool {
        self.recent[usize::from(ox_id.0) % PLACES].note(now, key) && self.is_to_ask(now, peer, key)
    }

    #[cold]
    fn is_to_ask(&mut self, now: u64, peer: PeerId, key: u64) -> bool {
        let Some(network) = self.networks.get_mut(usize::from(peer.index)) else { return false };
        if network.excused.take_if(|excused| *excused == key).is_some() {
            return false;
        }
        if now >= network.wary_until && now < network.ask_at {
            return false;
        }
        network.ask_at = now.saturating_add(PAUSE);
        self.held.len() < MOST && self.held.iter().filter(|doubt| doubt.peer == peer).count() < MOST_OF_ONE
    }
}

/// Key of a command: of two that differ in their initiator, OX_ID or a byte of FCP_CMND, it is different.
fn key(peer: PeerId, ox_id: OxId, digest: u64) -> u64 {
    (digest ^ (u64::from(ox_id.0) << 16 | u64::from(peer.index))).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl<S: DeviceServer> Target<S> {
    /// Holds a command back that may be a late twin; false if there is no reason to.
    #[inline]
    pub(super) fn hold_back(&mut self, now: u64, peer: &Peer, header: &FcHeader, payload: &[u8], digest: u64) -> bool {
        let key = key(peer.id, header.ox_id, digest);
        if payload.len() > LONGEST || !self.doubts.is_doubtful(now, peer.id, header.ox_id, key) {
            return false;
        }
        self.keep_back(now, peer, header, payload, digest);
        true
    }

    #[cold]
    fn keep_back(&mut self, now: u64, peer: &Peer, header: &FcHeader, payload: &[u8], digest: u64) {
        let mut kept = [0; LONGEST];
        kept[..payload.len()].copy_from_slice(payload);
        // By then the response of the exchange before has come, late as it may be: who knows one then waits for this command,
        // or for another one, which has come in as much time again unless it was lost.
        let ask_at = now.saturating_add(SETTLE);
        self.doubts.held.push(Doubt {
            peer: peer.id,
            header: *header,
            payload: kept,
            len: payload.len(),
            digest,
            since: now,
            known: None,
            ask_at,
        });
        self.counters.doubted += 1;
    }

    /// The initiator has answered REC about an OX_ID under which a command is held back: `over` if it knows no such
    /// exchange, or one that has ended.
    pub(super) fn doubt_answered(&mut self, now: u64, peer: PeerId, ox_id: OxId, over: bool) {
        let about = |doubt: &&mut Doubt| (doubt.peer, doubt.header.ox_id) == (peer, ox_id);
        let Some(doubt) = self.doubts.held.iter_mut().find(about) else { return };
        doubt.known = Some(doubt.known.unwrap_or(now));
        if over {
            self.is_twin(now, peer, ox_id);
        }
    }

    /// Drops a command that is held back, as a twin, if there is one under this OX_ID.
    #[inline]
    pub(super) fn is_twin(&mut self, now: u64, peer: PeerId, ox_id: OxId) {
        if !self.doubts.held.is_empty() {
            self.drop_twin(now, peer, ox_id);
        }
    }

    #[cold]
    fn drop_twin(&mut self, now: u64, peer: PeerId, ox_id: OxId) {
        if self.doubts.drop_one(peer, ox_id) {
            self.doubts.doubled(now, peer);
            self.counters.twins += 1;
        }
    }

    /// Goes on with the commands that have been held back for long enough.
    pub(super) fn settle(&mut self, now: u64) {
        while let Some(at) = self.doubts.held.iter().position(|doubt| doubt.due() <= now) {
            let doubt = &mut self.doubts.held[at];
            let Some(peer) = self.peers.get(usize::from(doubt.peer.index)).copied().flatten() else {
                self.doubts.held.swap_remove(at);
                continue;
            };
            let peer = peer.peer;
            if doubt.known.is_none() && now.saturating_sub(doubt.since) < GIVE_UP {
                doubt.ask_at = now.saturating_add(REPEAT);
                let ox_id = doubt.header.ox_id;
                self.ask_about(&peer, ox_id, RxId::UNASSIGNED, None);
                continue;
            }
            let doubt = self.doubts.held.swap_remove(at);
            let payload = &doubt.payload[..doubt.len];
            let wary = self.doubts.networks.get(usize::from(peer.id.index)).is_some_and(|known| now < known.wary_until);
            match FcpCommand::parse(payload) {
                // The exchange that the initiator knows may be another one, of which FCP_CMND was lost: its initiator
                // sends it again, and this one too, if it was no twin.
                Ok(command) if wary => {
                    self.doubts.excuse(peer.id, doubt.header.ox_id, doubt.digest);
                    let data_len = if command.read || command.write { command.data_len } else { 0 };
                    let residual = -i64::from(data_len);
                    let response = FcpResponse { status: BUSY, residual, ..FcpResponse::default() };
                    self.respond(&peer, &doubt.header, &response);
                }
                Ok(command) => {
                    if let Err(reason) = self.begin(now, &peer, &doubt.header, &command, doubt.digest) {
                        self.counters.drop(reason);
                    }
                }
                Err(_) => self.counters.drop(TargetDrop::Malformed),
            }
        }
    }
}
