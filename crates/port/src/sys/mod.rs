//! System calls of ports. `unsafe` of this crate stands here and nowhere else.

#[cfg(target_os = "linux")]
pub(crate) mod packet;
pub(crate) mod seqpacket;
#[cfg(target_os = "linux")]
pub(crate) mod socket;
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
