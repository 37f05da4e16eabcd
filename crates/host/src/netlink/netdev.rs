//! The kernel's `netdev` family of generic netlink (Documentation/netlink/specs/netdev.yaml): driver features for
//! AF_XDP.

use super::bad_answer;
use super::generic::Family;
use super::message::{attribute, long};
use std::io;

// linux/netdev.h
const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XSK_FEATURES: u16 = 6;

/// The driver completes checksums of frames that it sends from a UMEM (NETDEV_XSK_FLAGS_TX_CHECKSUM).
pub const XSK_TX_CHECKSUM: u64 = 2;

/// Features of an interface's driver for frames sent from an AF_XDP UMEM (`enum netdev_xsk_flags`). The interface is in
/// the calling thread's network namespace; an error before Linux 6.8.
pub fn xsk_features(index: u32) -> io::Result<u64> {
    let mut netdev = Family::open("netdev")?;
    let mut message = netdev.request(NETDEV_CMD_DEV_GET);
    message.attribute(NETDEV_A_DEV_IFINDEX, &index.to_ne_bytes());
    features(&netdev.ask(message)?).ok_or_else(bad_answer)
}

fn features(answer: &[u8]) -> Option<u64> {
    attribute(answer, NETDEV_A_DEV_XSK_FEATURES).filter(|value| value.len() >= 8).map(|value| long(value, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message::Message;

    #[test]
    fn flags_are_found_among_other_attributes() {
        let mut message = Message::about(0, 0, &[]);
        message.attribute(NETDEV_A_DEV_IFINDEX, &7u32.to_ne_bytes());
        message.attribute(3, &u64::MAX.to_ne_bytes());
        message.attribute(NETDEV_A_DEV_XSK_FEATURES, &3u64.to_ne_bytes());
        let answer = message.body();
        assert_eq!(features(answer), Some(3));
        assert_eq!((features(&answer[..answer.len() - 1]), features(&[])), (None, None));
    }

    #[test]
    fn the_kernel_says_of_loopback_that_it_does_nothing() {
        match xsk_features(1) {
            Ok(flags) => assert_eq!(flags, 0),
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => {
                return linerate_skip::skip!("this kernel has no netdev family");
            }
            Err(e) => panic!("{e}"),
        }
        assert!(xsk_features(u32::MAX).is_err(), "there is no such interface");
    }
}
