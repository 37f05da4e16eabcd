//! Transmit timers of LLDP's agent (IEEE 802.1AB-2016, clauses 9.2.5, 9.2.9 and 9.2.10).

/// A second, the tick of all timers, in ns.
pub(crate) const SECOND: u64 = 1_000_000_000;
/// Seconds between units: msgTxInterval.
const INTERVAL: u64 = 30;
/// Seconds between the units of a fast start: msgFastTx.
const FAST: u64 = 1;
/// Units of a fast start: txFastInit.
const FAST_INIT: u8 = 4;
/// Units that may follow each other at once: txCreditMax; each second gives one back.
const CREDIT_MAX: u64 = 5;
/// Time to live of what is sent: msgTxHold (4) intervals and a second.
pub(crate) const TTL: u16 = 121;

/// The transmit timer and the transmission that it asks for.
#[derive(Debug, Clone)]
pub(crate) struct Transmitter {
    /// Time of the last tick.
    tick: u64,
    /// Seconds to the next unit: txTTR.
    left: u64,
    credit: u64,
    /// Units left of a fast start: txFast.
    fast: u8,
    /// A unit is to be sent: txNow.
    pending: bool,
}

impl Transmitter {
    /// Timers of a port that has just come up.
    pub(crate) fn new(now: u64) -> Self {
        Self { tick: now, left: 0, credit: CREDIT_MAX, fast: 0, pending: false }
    }

    /// Lets the seconds pass that have passed.
    pub(crate) fn advance(&mut self, now: u64) {
        let ticks = now.saturating_sub(self.tick) / SECOND;
        self.tick += ticks * SECOND;
        self.credit = self.credit.saturating_add(ticks).min(CREDIT_MAX);
        self.left = self.left.saturating_sub(ticks);
        if self.left == 0 {
            self.expire();
        }
    }

    /// The information has changed: it is sent at once, if there is credit.
    pub(crate) fn change(&mut self) {
        self.signal();
    }

    /// There is a new neighbour: units follow each other by the second for a while.
    pub(crate) fn neighbour(&mut self) {
        if self.fast == 0 {
            self.fast = FAST_INIT;
        }
        self.expire();
    }

    fn expire(&mut self) {
        self.fast = self.fast.saturating_sub(1);
        self.signal();
    }

    fn signal(&mut self) {
        self.pending = true;
        self.left = if self.fast > 0 { FAST } else { INTERVAL };
    }

    /// True if a unit is to be sent now; it is taken as sent.
    pub(crate) fn take(&mut self) -> bool {
        let due = self.pending && self.credit > 0;
        if due {
            self.pending = false;
            self.credit -= 1;
        }
        due
    }

    /// Time at which there is something to do next.
    pub(crate) fn timeout(&self) -> u64 {
        match (self.pending, self.credit) {
            (true, 1..) => self.tick,
            (true, 0) => self.tick + SECOND,
            (false, _) => self.tick + self.left * SECOND,
        }
    }
}
