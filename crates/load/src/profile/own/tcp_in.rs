//! Receiving over TCP: segments in order come through a cable, in batches, and are read at once.

use super::look::{Bare, Look, Watch};
use super::tcp::{BATCH, Bed, HERE, STATION, Talk, Ticks, Times, column, differences, said};
use super::{Column, Measured};
use crate::profile::Order;
use linerate_rt::net::{Node, Options};
use linerate_rt::{Stop, ticks};
use linerate_stack::{Probe, Stage, Transmit};

pub(super) const COLUMNS: &[Column] =
    &[Column { id: "rx-tcp", title: "linerate TCP", measure: |order, stop| measured(order, stop) }];

/// Segments of a batch before the receiver has told of a larger window than a SYN can.
const FIRST: u32 = 8;
/// Bytes of a segment of the longest, options counted.
const MSS: u16 = 1460;
/// Bytes that a reader has room for.
const ROOM: usize = 65_536;

fn measured(order: &Order, stop: &Stop) -> Result<Measured, String> {
    column(&mut In::new(order)?, order, stop)
}

/// A host with a connection, and the far end of its cable, through which the peer's frames come.
pub(super) struct In {
    node: Node,
    far: Node,
    talk: Talk,
    payload: Vec<u8>,
    frame: Vec<u8>,
    room: Vec<u8>,
}

/// Turns all frames back at once.
struct Discard;

impl Probe for Discard {
    fn passed<M: ?Sized>(&mut self, _: Stage, _: &M) -> bool {
        false
    }
}

impl In {
    pub(super) fn new(order: &Order) -> Result<Self, String> {
        // Checksums are verified by the host, as on a port that does not.
        let options = Options { software: true, ..Options::default() };
        let ports = ["cable:{1", "cable:}1"].map(|end| end.replace(':', &format!(":profile{}", std::process::id())));
        let here = [HERE.parse().map_err(said)?];
        let nodes = Node::open_all(&[&ports[0], &ports[1]], &[&here, &[]], &options).map_err(said)?;
        let Ok([mut node, mut far]) = <[Node; 2]>::try_from(nodes) else { return Err("a cable has two ends".into()) };
        // The adapter at the far end takes what is sent to the peer.
        far.set_mac(STATION).map_err(said)?;
        // Until both see their link up.
        for now in 0..4 {
            node.handle(now);
            far.handle(now);
        }
        let talk = Talk::begin(&mut node.ip.host, MSS)?;
        node.flush(talk.now);
        let payload = vec![0x55; order.payload()];
        let frame = vec![0; order.size as usize];
        let mut bed = Self { node, far, talk, payload, frame, room: vec![0; ROOM] };
        // The window opens.
        for _ in 0..2 * BATCH / FIRST {
            bed.comes(FIRST)?;
            bed.node.receive_probed(bed.talk.now, &mut ());
            bed.settle(FIRST, true, 0)?;
        }
        Ok(bed)
    }

    /// Has the peer's next segments come to the host's ring.
    fn comes(&mut self, segments: u32) -> Result<(), String> {
        let Self { far, talk, payload, frame, .. } = self;
        let mut peer = talk.peer;
        let (_, mut tx) = far.parts();
        for _ in 0..segments {
            let flags = linerate_wire::TcpFlags::ACK.union(linerate_wire::TcpFlags::PSH);
            let len = peer.frame(frame, flags, &[], payload).ok_or("a frame is too long")?;
            if !tx.send(&frame[..len], &[], None) {
                return Err("the cable has no room".to_owned());
            }
            peer.seq = peer.seq.wrapping_add(u32::try_from(payload.len()).map_err(said)?);
        }
        far.flush(talk.now);
        Ok(())
    }

    /// Reads all that there is; returns the bytes.
    #[inline]
    fn read(&mut self) -> usize {
        let mut all = 0;
        loop {
            match self.node.ip.host.tcp_read(self.talk.id, &mut self.room) {
                Some(n) if n > 0 => all += n,
                _ => return all,
            }
        }
    }

    /// Verifies that so many segments came, or none, `read` bytes of which were read; answers and reads what was not.
    fn settle(&mut self, segments: u32, taken: bool, read: usize) -> Result<(), String> {
        self.node.answer(self.talk.now);
        let read = read + self.read();
        let wanted = if taken { self.payload.len() * segments as usize } else { 0 };
        if read != wanted {
            return Err(format!("not verified: {wanted} bytes to be read, {read} read"));
        }
        self.talk.peer.seq = self.talk.peer.seq.wrapping_add(u32::try_from(wanted).map_err(said)?);
        self.talk.wait();
        self.node.answer(self.talk.now);
        let answers = self.far.receive_probed(self.talk.now, &mut Discard);
        while self.node.ip.host.tcp_news().is_some() {}
        // Less may wait for more (RFC 9293, section 3.8.6.3).
        if wanted >= 2 * usize::from(MSS) && answers == 0 {
            return Err("not verified: nothing was acknowledged".to_owned());
        }
        self.talk.wait();
        Ok(())
    }
}

impl Bed for In {
    type Bare = Bare;

    const STAGES: &'static [(Stage, &'static str)] = &[
        (Stage::Ring, "the port's sync, and the frame in its slot"),
        (Stage::Ethernet, "whether the frame is for this host"),
        (Stage::Ip, "IPv4 header, checksum and addresses"),
        (Stage::Segment, "TCP header and options, and the checksum over all of it"),
        (Stage::Socket, "the connection is found by its ends"),
        (Stage::Input, "numbers, acknowledgement, and the bytes into the receive buffer"),
        (Stage::Answer, "slots given back, and what is due of acknowledgements, one a batch at most, into the ring"),
        (Stage::Read, "the bytes copied to the caller, 64 KiB a call"),
    ];
    const STAMPED: usize = 7;

    fn packets(&self) -> u32 {
        BATCH
    }

    fn ends(&self) -> u32 {
        BATCH
    }

    fn batch<W: Watch>(&mut self, look: Look) -> Result<Ticks, String> {
        self.comes(BATCH)?;
        let now = self.talk.now;
        let (back, taken) = match look {
            Look::Back(stage) | Look::Settled(stage) => (stage, stage >= Stage::Input),
            Look::Nowhere | Look::Stamp(_) => (Stage::Read, true),
        };
        let start = ticks();
        let mut probe = W::new(look, start);
        let arrived = self.node.receive_probed(now, &mut probe);
        let (mut reached, mut read) = (probe.reached(), 0);
        if back >= Stage::Answer {
            self.node.answer(now);
            if look == Look::Stamp(Stage::Answer) {
                reached = ticks().wrapping_sub(start);
            }
            if back == Stage::Read {
                read = self.read();
            }
        }
        let whole = ticks().wrapping_sub(start);
        if arrived != BATCH as usize {
            return Err(format!("not verified: {arrived} of {BATCH} frames came"));
        }
        self.settle(BATCH, taken, read)?;
        Ok(Ticks { reached, calls: whole, whole })
    }

    fn stages(times: &Times, nothing: f64) -> Vec<f64> {
        differences(nothing, &[&times.reached[..], &[times.whole]].concat())
    }
}

#[cfg(test)]
impl In {
    pub(super) fn talk(&self) -> &Talk {
        &self.talk
    }

    /// Has one segment come.
    pub(super) fn one_comes(&mut self, probe: &mut impl Probe) {
        self.comes(1).unwrap();
        assert_eq!(self.node.receive_probed(self.talk.now, probe), 1);
    }
}
