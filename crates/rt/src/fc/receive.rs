//! The way in: whole frames, with their CRC checked.

use super::LONGEST;
use linerate_nic::NicRx;
use linerate_offload::{Verdict, verify_fc_crc};

/// An interface's way in, for an N_Port.
#[derive(Debug, Default)]
pub struct FcRx {
    interface: usize,
    count: FcRxCounters,
}

/// What was received. `frames` is all there is: those shown, and those that have a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FcRxCounters {
    /// Frames that came for the interface.
    pub frames: u64,
    /// FC frames dropped because their CRC is wrong.
    pub bad_crc: u64,
    /// Frames dropped because they are longer than any of FCoE.
    pub too_long: u64,
}

impl FcRx {
    /// Receives from an interface.
    #[must_use]
    pub fn new(interface: usize) -> Self {
        Self { interface, count: FcRxCounters::default() }
    }

    /// What was received.
    #[must_use]
    pub fn counters(&self) -> FcRxCounters {
        self.count
    }

    /// Shows the reader up to `most` frames that have arrived, in order, each whole and from its Ethernet header on; gives
    /// how many it took. FC frames come with [`Verdict::Good`], those with a wrong CRC not at all; what has no CRC (FIP,
    /// and FC frames too damaged to have one) comes with [`Verdict::Unknown`].
    #[inline]
    pub fn receive(&mut self, nic: &mut NicRx, most: usize, mut reader: impl FnMut(&[u8], Verdict)) -> usize {
        let Self { interface, count } = self;
        nic.receive(*interface, most, |frame| {
            count.frames += 1;
            let bytes = frame.head();
            if bytes.len() > LONGEST {
                count.too_long += 1;
                return;
            }
            match verify_fc_crc(bytes) {
                Verdict::Bad => count.bad_crc += 1,
                verdict => reader(bytes, verdict),
            }
        })
    }
}
