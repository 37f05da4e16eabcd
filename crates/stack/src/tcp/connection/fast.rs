//! Fast Open (RFC 7413): data that come with SYN, and are taken before the handshake is over.

use super::super::segment::Segment;
use super::super::seq::Seq;
use super::{Connection, State};
use linerate_wire::{FastOpenCookie, TcpFlags};

/// Lesson about a peer, for the connections to it that are to come (section 4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastOpenLesson {
    /// It has answered: with a new cookie perhaps, and with the size of its segments if it names one.
    Answered {
        /// Cookie for the next SYN.
        cookie: Option<FastOpenCookie>,
        /// Most bytes of data that it takes in a segment, without options.
        mss: Option<u16>,
    },
    /// SYN with the option was not answered in time, or by an error, or its data were not taken (section 4.1.3.1).
    Failed,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fast {
    /// Option of our first SYN, or of our answer to the peer's.
    option: Option<FastOpenCookie>,
    /// Most bytes of data and options in our SYN.
    most: u32,
    /// Data of SYN were taken at once.
    pub(super) on: bool,
    lesson: Option<FastOpenLesson>,
}

impl Connection {
    /// Has SYN ask for a cookie; or carry this one, and the first of what is written before SYN goes out. `mss` is what the
    /// peer takes in a segment, without options, as far as is known.
    ///
    /// Data of a SYN may reach the peer's user twice (section 2.1): where a SYN that was doubled on its way comes when its
    /// connection is over already. They must do no harm then.
    pub fn ask_fast_open(&mut self, cookie: FastOpenCookie, mss: u32) {
        (self.fast.option, self.fast.most) = (Some(cookie), mss.min(self.own_mss.into()));
    }

    /// Has the answer to the peer's SYN bring a cookie.
    pub fn offer_cookie(&mut self, cookie: FastOpenCookie) {
        self.fast.option = Some(cookie);
    }

    /// Takes the data of a SYN whose cookie is right: they can be read, and answered, before the handshake is over (section
    /// 4.2.2). To be called before anything is sent.
    pub fn open_at_once(&mut self, now: u64, syn: &Segment<'_>) {
        self.fast.on = true;
        // A FIN is left for later: it comes again.
        self.take_trimmed(now, &Segment { seq: syn.seq.plus(1), flags: TcpFlags::ACK, ..*syn });
    }

    /// True if the connection began by Fast Open: the peer's cookie was right, or the peer took data of our SYN.
    #[must_use]
    pub fn is_fast_open(&self) -> bool {
        self.fast.on
    }

    /// True if the peer can be heard, though it has not acknowledged our answer to its SYN.
    #[must_use]
    pub fn is_open_early(&self) -> bool {
        self.fast.on && self.state == State::SynReceived
    }

    /// Takes what was learnt about the peer since this was last asked.
    #[inline]
    pub fn fast_open_lesson(&mut self) -> Option<FastOpenLesson> {
        self.fast.lesson.take()
    }

    /// True if data may go out. Before the handshake is over they may by Fast Open until the answer to SYN is lost: it alone is
    /// sent again then.
    #[inline]
    pub(super) fn may_send_data(&self) -> bool {
        match self.state {
            State::SynSent => false,
            State::SynReceived => self.fast.on && self.counters.timeouts == 0 && self.flight.lost() == 0,
            _ => true,
        }
    }

    /// True if SYN alone is under way: what follows it is not held back for it.
    pub(super) fn flies_syn_alone(&self) -> bool {
        self.una == self.iss && self.nxt == self.iss.plus(1)
    }

    /// The option of SYN, or of the answer to one. A SYN that is sent again is a plain one: what lay on the way may have
    /// dropped it for its option or data (section 4.1.3.1).
    pub(super) fn option_of_syn(&self, answers: bool, again: bool) -> Option<FastOpenCookie> {
        self.fast.option.filter(|_| if answers { self.passive } else { !again })
    }

    /// Bytes of data that go with a SYN which has these options.
    pub(super) fn data_of_syn(&self, cookie: Option<FastOpenCookie>, options: usize) -> u32 {
        if self.passive || cookie.is_none_or(|cookie| cookie.is_request()) {
            return 0;
        }
        self.queue.len().min(self.fast.most.saturating_sub(super::count(options)))
    }

    /// The peer has answered our SYN.
    pub(super) fn learn_of_answer(&mut self, segment: &Segment<'_>) {
        if self.fast.option.is_none() {
            return;
        }
        let first = self.iss.plus(1);
        let (carried, lost) = (first.is_before(self.nxt), self.counters.timeouts > 0);
        self.fast.on = first.is_before(segment.ack);
        let cookie = segment.options.fast_open.filter(|cookie| !cookie.is_request());
        if self.fast.on || cookie.is_some() || !carried && !lost {
            self.fast.lesson = Some(FastOpenLesson::Answered { cookie, mss: segment.options.mss });
        } else if !lost {
            self.fast.lesson = Some(FastOpenLesson::Failed);
        }
    }

    /// Our SYN was not answered, or by an error.
    pub(super) fn learn_of_failure(&mut self) {
        if self.fast.option.is_some() && self.state == State::SynSent {
            self.fast.lesson = Some(FastOpenLesson::Failed);
        }
    }

    /// Data of our SYN that were not acknowledged with it go out anew, at once: neither the path nor the peer has lost them
    /// (section 4.2.2).
    pub(super) fn take_back_data_of_syn(&mut self, ack: Seq) {
        if !self.passive && ack.is_before(self.nxt) {
            self.flight.forget_from(ack);
            self.nxt = ack;
        }
    }
}
