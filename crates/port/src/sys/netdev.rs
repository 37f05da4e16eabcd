//! The kernel's `netdev` family of generic netlink (Documentation/netlink/specs/netdev.yaml): what a driver does for AF_XDP.

use super::netlink::{Message, Netlink, attributes, bad_answer};
use std::io;

// linux/genetlink.h, linux/netdev.h
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XSK_FEATURES: u16 = 6;
/// `struct genlmsghdr`: command, version, two bytes of nothing.
const HEADER: usize = 4;

/// The driver completes checksums of frames that it sends from the memory (NETDEV_XSK_FLAGS_TX_CHECKSUM).
pub(crate) const XSK_TX_CHECKSUM: u64 = 2;

/// What an interface's driver does for frames that it sends from the memory (`enum netdev_xsk_flags`). In the calling
/// thread's network namespace; an error before Linux 6.8.
pub(crate) fn xsk_features(index: u32) -> io::Result<u64> {
    let mut generic = Netlink::open_generic()?;
    let controller = u16::try_from(libc::GENL_ID_CTRL).unwrap_or(0x10);
    let mut message = Message::about(controller, 0, &[CTRL_CMD_GETFAMILY, 1, 0, 0]);
    message.attribute(CTRL_ATTR_FAMILY_NAME, b"netdev\0");
    let answer = generic.ask(message)?.ok_or_else(bad_answer)?;
    let family = value(&answer, CTRL_ATTR_FAMILY_ID).and_then(|id| Some(u16::from_ne_bytes(*id.first_chunk()?)));
    let mut message = Message::about(family.ok_or_else(bad_answer)?, 0, &[NETDEV_CMD_DEV_GET, 1, 0, 0]);
    message.attribute(NETDEV_A_DEV_IFINDEX, &index.to_ne_bytes());
    features(&generic.ask(message)?.ok_or_else(bad_answer)?).ok_or_else(bad_answer)
}

fn features(answer: &[u8]) -> Option<u64> {
    value(answer, NETDEV_A_DEV_XSK_FEATURES).and_then(|flags| Some(u64::from_ne_bytes(*flags.first_chunk()?)))
}

/// The value of an attribute in an answer's body.
fn value(answer: &[u8], wanted: u16) -> Option<Vec<u8>> {
    let mut found = None;
    attributes(answer.get(HEADER..)?, |kind, value| {
        if kind == wanted {
            found = Some(value.to_vec());
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_found_among_other_attributes() {
        let mut message = Message::about(0, 0, &[]);
        message.attribute(NETDEV_A_DEV_IFINDEX, &7u32.to_ne_bytes());
        message.attribute(3, &u64::MAX.to_ne_bytes());
        message.attribute(NETDEV_A_DEV_XSK_FEATURES, &3u64.to_ne_bytes());
        let answer = [&[NETDEV_CMD_DEV_GET, 1, 0, 0][..], message.body()].concat();
        assert_eq!(features(&answer), Some(3));
        assert_eq!((features(&answer[..HEADER]), features(&[])), (None, None));
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
