//! Work of the adapter on a received frame for one interface, as its flags say.

use super::batch::{self, Entry};
use super::count::{Count, ViCells};
use super::frame::{Pieces, RxFrame, RxMeta};
use super::settings::ViSettings;
use crate::flags::Flags;
use linerate_offload::{
    Action, FlowKey, Headers, Ip, Merged, Piece, Rss, Steering, Verdict, Version, complete_checksum, outer_tag,
    tag_stripped, verify_parsed,
};
use linerate_ring::{Meta, RxBatch};
use linerate_wire::{EtherType, IpProtocol};
use std::sync::Arc;

/// The front of a frame that merging looks at.
pub(super) const FRONT: usize = 128;
/// Bytes of a tag.
const TAG: u16 = 4;
/// Bytes of a frame's two addresses.
const ADDRESSES: usize = 12;

/// The work that an interface wants done.
pub(super) struct Work {
    /// None at all.
    idle: bool,
    untag: bool,
    verify_v4: bool,
    verify_v6: bool,
    /// Checksums that the port vouches for are good, others unknown: nothing is read.
    by_word: bool,
    pub(super) lro: bool,
    rss: Option<Arc<Rss>>,
    steering: Option<Arc<Steering>>,
}

/// Results of the work, until they are counted.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) frames: u64,
    pub(super) bytes: u64,
    good: u64,
    bad: u64,
    merged: u64,
    untagged: u64,
    filtered: u64,
}

impl Tally {
    #[inline]
    pub(super) fn count(&self, cells: &ViCells) {
        let Self { frames, bytes, good, .. } = *self;
        if frames > 0 {
            cells.add(Count::RxFrames, frames);
            cells.add(Count::RxBytes, bytes);
        }
        if good > 0 {
            cells.add(Count::RxCsumGood, good);
        }
        if self.bad | self.merged | self.untagged | self.filtered > 0 {
            self.count_rare(cells);
        }
    }

    #[cold]
    fn count_rare(&self, cells: &ViCells) {
        cells.add(Count::RxCsumBad, self.bad);
        cells.add(Count::RxMerged, self.merged);
        cells.add(Count::RxUntagged, self.untagged);
        cells.add(Count::RxFiltered, self.filtered);
    }
}

/// A frame that may be merged with others.
pub(super) struct Offer {
    /// Bytes of its front that were copied.
    pub(super) front: usize,
    /// Bytes that it has without its tag.
    pub(super) len: usize,
    /// Bytes that are passed over.
    pub(super) skip: u16,
}

impl Work {
    /// `verify`: checksums that the port does not vouch for are verified.
    pub(super) fn new(settings: &ViSettings, verify: bool) -> Self {
        let on = |flag| settings.flags.enabled().contains(flag);
        let (v4, v6) = (on(Flags::RXCSUM), settings.on_v6(Flags::RXCSUM, Flags::RXCSUM_IPV6));
        let mut work = Self {
            idle: false,
            by_word: !verify && v4 && v6,
            untag: on(Flags::VLAN_HWTAGGING),
            verify_v4: verify && v4,
            verify_v6: verify && v6,
            lro: on(Flags::LRO),
            rss: settings.rss.clone(),
            steering: settings.steering.clone(),
        };
        work.idle = !(work.untag || work.verify_v4 || work.verify_v6 || work.lro);
        work.idle &= work.rss.is_none() && work.steering.is_none();
        work
    }

    /// True if a frame of which the port said nothing is shown as it came.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.idle
    }

    /// Does the work on a frame and shows it to the reader, unless it may be merged: then copies its front and gives it
    /// back as an offer. `about` comes with what the port said; `to` is the queue that a filter of the adapter sends it to.
    #[inline]
    pub(super) fn look(
        &self,
        bytes: &mut [u8],
        about: &mut RxMeta,
        to: Option<u16>,
        front: &mut [u8; FRONT],
        tally: &mut Tally,
        reader: &mut impl FnMut(RxFrame<'_>),
    ) -> Option<Offer> {
        (tally.frames, tally.bytes) = (tally.frames + 1, tally.bytes + bytes.len() as u64);
        if self.idle && about.request == Meta::default() {
            about.queue = to.unwrap_or(0);
            reader(RxFrame::whole(bytes, about));
            return None;
        }
        let mut skip = 0;
        if self.untag
            && let Some((EtherType::VLAN, tag)) = outer_tag(bytes)
        {
            (skip, about.vlan) = (TAG, Some(tag.0));
            tally.untagged += 1;
        }
        let saved = untag(bytes, skip);
        let view = &mut bytes[usize::from(skip)..];
        let mut offer = None;
        about.request = request(about.request, skip);
        if !self.judge(view, about, tally) {
            let len = view.len() as u64 + u64::from(skip);
            (tally.frames, tally.bytes, tally.filtered) = (tally.frames - 1, tally.bytes - len, tally.filtered + 1);
        } else if let Some(queue) = to {
            about.queue = queue;
            show(view, about, self.opens(about), reader);
        } else if self.lro && about.request.gso_type == 0 && is_tcp(view) {
            let n = view.len().min(FRONT);
            front[..n].copy_from_slice(&view[..n]);
            offer = Some(Offer { front: n, len: view.len(), skip });
        } else {
            show(view, about, self.opens(about), reader);
        }
        retag(bytes, skip, saved);
        offer
    }

    /// Checksums, hash and queue; false if a filter drops the frame.
    #[inline]
    fn judge(&self, view: &[u8], meta: &mut RxMeta, tally: &mut Tally) -> bool {
        let vouched = meta.request.flags & (Meta::DATA_VALID | Meta::NEEDS_CSUM) != 0;
        if self.by_word && vouched {
            meta.checksum = Verdict::Good;
            tally.good += 1;
        }
        let verify = self.verify_v4 || self.verify_v6;
        if !verify && self.rss.is_none() && self.steering.is_none() {
            return true;
        }
        let Some(headers) = Headers::parse(view, view.len()) else { return true };
        if let Some(Ip { version, .. }) = headers.ip
            && if version == Version::V4 { self.verify_v4 } else { self.verify_v6 }
        {
            meta.checksum = if vouched { Verdict::Good } else { verify_parsed(&headers, view, &[]) };
            match meta.checksum {
                Verdict::Good => tally.good += 1,
                Verdict::Bad => tally.bad += 1,
                Verdict::Unknown => {}
            }
        }
        if let Some(rss) = &self.rss
            && let Some((hash, _)) = rss.hash(&headers, view)
        {
            (meta.hash, meta.queue) = (Some(hash), rss.queue(hash));
        }
        self.steering.as_ref().is_none_or(|steering| steer(steering, &headers, view, meta))
    }

    /// True if a checksum that is not filled in must be, because nobody vouches for the frame.
    fn opens(&self, meta: &RxMeta) -> bool {
        meta.request.flags & Meta::NEEDS_CSUM != 0 && meta.request.gso_type == 0 && meta.checksum != Verdict::Good
    }

    /// Shows a frame that was looked at before and could not be merged.
    pub(super) fn show(&self, bytes: &mut [u8], skip: u16, meta: &RxMeta, reader: &mut impl FnMut(RxFrame<'_>)) {
        let saved = untag(bytes, skip);
        show(&mut bytes[usize::from(skip)..], meta, self.opens(meta), reader);
        retag(bytes, skip, saved);
    }

    /// Shows what merging has made of frames that were offered.
    pub(super) fn merged(
        &self,
        merged: &Merged<'_>,
        ring: &mut RxBatch<'_>,
        copies: &mut [u8],
        frames: &[Entry],
        tally: &mut Tally,
        reader: &mut impl FnMut(RxFrame<'_>),
    ) {
        let hash = self.rss.as_ref().map(|_| merged.meta.hash);
        let meta = RxMeta {
            checksum: Verdict::Good,
            vlan: (merged.meta.vlan_tci != 0).then_some(merged.meta.vlan_tci),
            hash,
            queue: self.queue(merged, hash),
            request: Meta { vlan_tci: 0, hash: 0, ..merged.meta },
        };
        if let [piece] = merged.pieces {
            let entry = &frames[piece.frame as usize];
            let meta = RxMeta { request: request(entry.meta(ring), entry.skip), ..meta };
            batch::with(ring, copies, entry, |bytes| self.show(bytes, entry.skip, &meta, reader));
            return;
        }
        tally.merged += merged.pieces.len() as u64 - 1;
        let payload: usize = merged.pieces.iter().map(|piece| usize::from(piece.end - piece.start)).sum();
        let mut chain = Chain { pieces: merged.pieces, ring, copies, frames };
        reader(RxFrame::merged(merged.header, &mut chain, merged.header.len() + payload, &meta));
    }

    fn queue(&self, merged: &Merged<'_>, hash: Option<u32>) -> u16 {
        let by_hash = hash.zip(self.rss.as_ref()).map_or(0, |(hash, rss)| rss.queue(hash));
        let Some(steering) = &self.steering else { return by_hash };
        let len = merged.header.len() + merged.pieces.iter().map(|p| usize::from(p.end - p.start)).sum::<usize>();
        let Some(headers) = Headers::parse(merged.header, len) else { return by_hash };
        match steering.classify(&FlowKey::new(&headers, merged.header, merged.meta.vlan_tci)).map(|rule| rule.action) {
            Some(Action::Queue(queue)) => queue,
            _ => by_hash,
        }
    }
}

/// Sets the queue that a filter sends a frame to; false if one drops it. Never inlined: interfaces without filters would pay for it.
#[inline(never)]
fn steer(steering: &Steering, headers: &Headers, view: &[u8], meta: &mut RxMeta) -> bool {
    let key = FlowKey::new(headers, view, meta.vlan.unwrap_or(0));
    match steering.classify(&key).map(|rule| rule.action) {
        Some(Action::Queue(queue)) => meta.queue = queue,
        Some(Action::Drop) => return false,
        // A single interface's table has no others.
        Some(Action::Interface(..) | Action::Mirror(_)) | None => {}
    }
    true
}

/// Metadata that the port gave of a frame, for the frame without the bytes that are passed over.
#[inline]
fn request(meta: Meta, skip: u16) -> Meta {
    let asked = if skip > 0 { tag_stripped(meta) } else { meta };
    Meta { vlan_tci: 0, hash: 0, ..asked }
}

/// Moves the addresses over the tag, if it is to be passed over; gives what stood there.
#[inline]
fn untag(bytes: &mut [u8], skip: u16) -> [u8; ADDRESSES] {
    let mut saved = [0; ADDRESSES];
    if skip > 0 {
        let at = usize::from(skip);
        saved.copy_from_slice(&bytes[at..at + ADDRESSES]);
        bytes.copy_within(..ADDRESSES, at);
    }
    saved
}

/// Puts them back: another interface may be shown the frame as it came.
#[inline]
fn retag(bytes: &mut [u8], skip: u16, saved: [u8; ADDRESSES]) {
    if skip > 0 {
        let at = usize::from(skip);
        bytes[at..at + ADDRESSES].copy_from_slice(&saved);
    }
}

/// Shows a frame, with its open checksum filled in if it must be; another interface sees it as it came.
#[inline]
fn show(view: &mut [u8], meta: &RxMeta, fill: bool, reader: &mut impl FnMut(RxFrame<'_>)) {
    if !fill {
        return reader(RxFrame::whole(view, meta));
    }
    let at = usize::from(meta.request.csum_start) + usize::from(meta.request.csum_offset);
    let saved = view.get(at..at + 2).map(|field| [field[0], field[1]]);
    // What names no field in the frame is shown as it is: the port has brought nonsense, and nobody vouches for it.
    let filled = complete_checksum(view, &[], &meta.request).is_ok();
    reader(RxFrame::whole(view, &RxMeta { request: Meta::default(), ..*meta }));
    if let Some(saved) = saved.filter(|_| filled) {
        view[at..at + 2].copy_from_slice(&saved);
    }
}

/// True if a frame is TCP over IP without a tag, options aside: what can be merged, or ends a merging.
#[inline]
fn is_tcp(view: &[u8]) -> bool {
    match view.get(12..14) {
        Some([0x08, 0x00]) => view.get(23) == Some(&IpProtocol::TCP.0),
        Some([0x86, 0xdd]) => view.get(20) == Some(&IpProtocol::TCP.0),
        // A tag that was left in the frame: merging knows what it can do.
        Some([0x81, 0x00]) => true,
        _ => false,
    }
}

/// The payload of frames that were merged, where they lie.
struct Chain<'m, 'r, 'b> {
    pieces: &'m [Piece],
    ring: &'r mut RxBatch<'b>,
    copies: &'r mut [u8],
    frames: &'r [Entry],
}

impl Pieces for Chain<'_, '_, '_> {
    fn each(&mut self, show: &mut dyn FnMut(&[u8])) {
        for piece in self.pieces {
            let entry = &self.frames[piece.frame as usize];
            let (from, to) = (usize::from(entry.skip + piece.start), usize::from(entry.skip + piece.end));
            batch::with(self.ring, self.copies, entry, |bytes| {
                bytes.get(from..to).map(&mut *show);
            });
        }
    }
}

#[test]
fn what_the_port_said_is_of_the_frame_without_what_is_passed_over() {
    let said = Meta { flags: Meta::NEEDS_CSUM, csum_start: 38, csum_offset: 16, hdr_len: 58, ..Meta::default() };
    let said = Meta { gso_type: 1, gso_size: 1400, vlan_tci: 5, hash: 9, ..said };
    let plain = Meta { vlan_tci: 0, hash: 0, ..said };
    assert_eq!(request(said, 0), plain);
    assert_eq!(request(said, 4), Meta { csum_start: 34, hdr_len: 54, ..plain });
}
