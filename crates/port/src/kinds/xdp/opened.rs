//! Checksums that arrive open: a veth passes on what the far end's stack left to its adapter, and XDP has no word for it.
//!
//! Such a frame has the pseudo-header's sum in its checksum field, and does not verify. That is taken for a request, as
//! other kinds of port get it in so many words. One in 65536 frames with a right checksum has the same field; they verify,
//! and stay as they are; what is recognised is counted (`open_checksums`). A damaged frame could be mistaken, with the same probability, but nothing on a veth damages any.
//!
//! Out of scope: what lies inside a tunnel (VXLAN's inner frame), and SCTP.

use super::rx::Part;
use crate::sys::umem::Umem;
use linerate_offload::{Verdict, seems_open, verify_checksums};
use linerate_ring::Meta;

/// Bytes in which the headers of nearly all frames lie: Ethernet, three tags, IPv6 with a few extension headers, TCP.
const HEAD: usize = 128;

/// Looks for open checksums.
#[derive(Default)]
pub(super) struct Opened {
    /// The frame that is looked at, whole.
    whole: Vec<u8>,
}

impl Opened {
    /// Request of a frame whose checksum is open.
    pub(super) fn request(&mut self, umem: &Umem, parts: &mut [Part]) -> Option<Meta> {
        let len = parts.iter().map(|part| part.len).sum();
        let first = parts.first_mut()?;
        let mut head = [0; HEAD];
        let head = head.get_mut(..first.len.min(HEAD))?;
        let there = umem.frame(&mut first.buffer, first.len).is_some_and(|frame| frame.read(0, head));
        let meta = seems_open(head, len).filter(|_| there)?;
        self.whole.clear();
        for part in parts {
            umem.frame(&mut part.buffer, part.len)?.append_to(&mut self.whole);
        }
        (verify_checksums(&self.whole, &[]) == Verdict::Bad).then_some(meta)
    }
}
