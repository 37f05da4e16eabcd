//! System calls of ports. All `unsafe` code of this crate is here.

#[cfg(target_os = "linux")]
pub(crate) mod block_ring;
#[cfg(target_os = "linux")]
pub(crate) mod packet;
pub(crate) mod ready;
pub(crate) mod seqpacket;
#[cfg(target_os = "linux")]
pub(crate) mod socket;
pub(crate) mod standard_streams;
#[cfg(target_os = "linux")]
pub(crate) mod tap;
#[cfg(target_os = "linux")]
pub(crate) mod umem;
#[cfg(target_os = "linux")]
pub(crate) mod unix;
#[cfg(target_os = "linux")]
pub(crate) mod xsk;
#[cfg(target_os = "linux")]
pub(crate) mod xsk_ring;
