//! FC input: whole frames, with their CRC checked.

use super::LONGEST;
use linerate_nic::NicRx;
use linerate_offload::{Verdict, verify_fc_crc};

/// Input of an N_Port from an interface.
#[derive(Debug, Default)]
pub struct FcRx {
    interface: usize,
    count: FcRxCounters,
}

/// Counters of frames received. `frames` counts all of them: those passed on, and those dropped for a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FcRxCounters {
    /// Frames received for the interface.
    pub frames: u64,
    /// FC frames dropped because their CRC is wrong.
    pub bad_crc: u64,
    /// Frames dropped because they are longer than any FCoE frame.
    pub too_long: u64,
}

impl FcRx {
    #[must_use]
    pub fn new(interface: usize) -> Self {
        Self { interface, count: FcRxCounters::default() }
    }

    #[must_use]
    pub fn counters(&self) -> FcRxCounters {
        self.count
    }

    /// Passes the reader up to `most` received frames, in order, each whole and from its Ethernet header on; returns
    /// their number. FC frames come with [`Verdict::Good`], those with a wrong CRC are dropped; frames without a CRC
    /// (FIP, and FC frames too damaged to have one) come with [`Verdict::Unknown`].
    #[inline]
    pub fn receive(&mut self, nic: &mut NicRx, most: usize, mut reader: impl FnMut(&[u8], Verdict)) -> usize {
        let interface = self.interface;
        nic.receive(interface, most, |frame| self.check(frame.head(), &mut reader))
    }

    /// Passes the reader one frame, likewise.
    #[inline]
    pub(super) fn check(&mut self, bytes: &[u8], mut reader: impl FnMut(&[u8], Verdict)) {
        let count = &mut self.count;
        count.frames += 1;
        if bytes.len() > LONGEST {
            count.too_long += 1;
            return;
        }
        match verify_fc_crc(bytes) {
            Verdict::Bad => count.bad_crc += 1,
            verdict => reader(bytes, verdict),
        }
    }
}
