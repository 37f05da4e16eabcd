//! ICMP: echoes, and errors in both directions.

use crate::counters::Discard;
use crate::host::Host;
use crate::input::Packet;
use crate::Transmit;

#[derive(Debug, Default)]
pub(crate) struct Allowance;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Error { NoPort, NoProtocol, Parameter { code: u8, pointer: u32 } }

impl Host {
    pub(crate) fn send_error<T: Transmit>(&mut self, _now: u64, _p: Packet<'_>, _e: Error, _tx: &mut T) {}
    pub(crate) fn take_icmp_v4<T: Transmit>(&mut self, _now: u64, _p: Packet<'_>, _tx: &mut T) -> Result<(), Discard> { Err(Discard::NotForUs) }
    pub(crate) fn take_icmp_v6<T: Transmit>(&mut self, _now: u64, _p: Packet<'_>, _tx: &mut T) -> Result<(), Discard> { Err(Discard::NotForUs) }
    pub(crate) fn end_fragments<T: Transmit>(&mut self, now: u64, _tx: &mut T) { self.reassembly.poll(now, |_| ()); }
}
