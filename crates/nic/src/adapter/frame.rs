//! A received frame, as its reader is shown it.

use linerate_offload::Verdict;
use linerate_ring::Meta;

/// Metadata of a frame, found by the adapter. Work whose flag is off was not done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxMeta {
    /// Verdict of RXCSUM.
    pub checksum: Verdict,
    /// The tag that VLAN_HWTAGGING took out of the frame.
    pub vlan: Option<u16>,
    /// The RSS hash, if flows are spread over queues and the frame has one.
    pub hash: Option<u32>,
    /// The queue of its interface that RSS or a filter sends it to.
    pub queue: u16,
    /// Differences of the frame from what it was on a wire: a merged or super-frame's segmentation, a checksum that is not
    /// filled in (which a good verdict vouches for). In such words it can be sent on.
    pub request: Meta,
}

/// A frame shown to its reader.
pub struct RxFrame<'a> {
    head: &'a [u8],
    more: Option<&'a mut dyn Pieces>,
    len: usize,
    /// None: there is nothing to say.
    meta: Option<&'a RxMeta>,
}

/// The payload of a merged frame.
pub(super) trait Pieces {
    /// Shows each piece, in order.
    fn each(&mut self, show: &mut dyn FnMut(&[u8]));
}

impl<'a> RxFrame<'a> {
    #[inline]
    pub(super) fn plain(head: &'a [u8]) -> Self {
        Self { head, more: None, len: head.len(), meta: None }
    }

    #[inline]
    pub(super) fn whole(head: &'a [u8], meta: &'a RxMeta) -> Self {
        Self { head, more: None, len: head.len(), meta: Some(meta) }
    }

    pub(super) fn merged(head: &'a [u8], more: &'a mut dyn Pieces, len: usize, meta: &'a RxMeta) -> Self {
        Self { head, more: Some(more), len, meta: Some(meta) }
    }

    /// The frame; of a merged one ([`RxFrame::is_merged`]) its headers, whose lengths are the whole's.
    #[inline]
    #[must_use]
    pub fn head(&self) -> &[u8] {
        self.head
    }

    /// True if it was made of several segments (LRO): then the payload is in [`RxFrame::pieces`].
    #[inline]
    #[must_use]
    pub fn is_merged(&self) -> bool {
        self.more.is_some()
    }

    /// Shows the payload of a merged frame where it lies, piece by piece; nothing of another frame.
    pub fn pieces(&mut self, mut show: impl FnMut(&[u8])) {
        if let Some(more) = &mut self.more {
            more.each(&mut show);
        }
    }

    /// Bytes of the whole frame, without FCS.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none, which never is.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Metadata of the frame.
    #[inline]
    #[must_use]
    pub fn meta(&self) -> RxMeta {
        self.meta.copied().unwrap_or_default()
    }

    /// True if nothing was found out and nothing is to be said: the frame is as it was on a wire, and nobody vouches for it.
    #[inline]
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.meta.is_none()
    }

    /// A copy of the whole frame, for those who are in no hurry.
    #[must_use]
    pub fn to_vec(mut self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len);
        bytes.extend_from_slice(self.head);
        self.pieces(|piece| bytes.extend_from_slice(piece));
        bytes
    }
}
