//! Calls for TCP with a probe between the stages.

use super::Host;
use crate::Transmit;
use crate::stage::Probe;
use crate::tcp::TcpId;

impl Host {
    /// Writes bytes to a connection and sends what may go out, as [`Host::tcp_write`] and [`Host::poll`] do one after the
    /// other, with a probe between the stages. Turned back before [`Stage::Output`](crate::Stage::Output), the bytes wait in
    /// the send buffer for the next poll; later, their segment counts as sent, like one that is lost on its way.
    #[inline]
    pub fn tcp_send_probed<T: Transmit, P: Probe>(
        &mut self,
        now: u64,
        id: TcpId,
        bytes: &[u8],
        tx: &mut T,
        probe: &mut P,
    ) -> Option<usize> {
        let (taken, goes_on) = self.tcp.write_probed(id, bytes, probe)?;
        if goes_on {
            self.poll_probed(now, tx, probe);
        }
        Some(taken)
    }
}
