//! The adapter's offloads, end to end over a cable: segmentation, merging, tags, jumbo frames, hash and filters.

use crate::common::{B, Kind, checked, pair, payload, queues, receive, send};
use linerate_nic::{Count, Nic, NicConfig};
use linerate_offload::{Action, Match, Prepared, Rss, Rule, Steering, Verdict};
use linerate_port::{Link, open};
use linerate_ring::Meta;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn config() -> NicConfig {
    NicConfig::default()
}

/// A super-frame with `len` bytes of payload, and its offload request.
fn super_frame(kind: Kind, len: usize, gso_size: u16) -> (Vec<u8>, Meta) {
    let shape = kind.shape();
    let frame = kind.open(&kind.frame(B, &payload(len), 5000));
    let gso_type = match kind {
        Kind::Tcp4 => 1,
        Kind::Tcp6 => 4,
        Kind::Udp4 | Kind::Udp6 => 5,
    };
    let hdr_len = u16::try_from(shape.headers).unwrap();
    (frame, Meta { gso_type, gso_size, hdr_len, ..shape.meta })
}

/// The same frame with an 802.1Q tag.
fn tagged(frame: &[u8], tci: u16) -> Vec<u8> {
    [&frame[..12], &[0x81, 0], &tci.to_be_bytes(), &frame[12..]].concat()
}

fn seq(frame: &[u8], kind: Kind) -> u32 {
    let at = usize::from(kind.shape().meta.csum_start) + 4;
    u32::from_be_bytes(frame[at..at + 4].try_into().unwrap())
}

#[test]
fn a_super_frame_leaves_as_segments_that_make_up_its_payload_with_right_checksums() {
    for options in ["", ",buf=512", ",mtu=9000"] {
        let mut nics = pair(options, &config(), &config());
        let [mut a, mut b] = queues(&mut nics);
        nics[1].control().set_flag(0, "-lro").unwrap();
        let (mut given, mut segments) = (0, 0);
        for kind in crate::common::KINDS {
            for (len, size) in [(1, 1400), (1400, 1400), (1401, 1400), (20_000, 1000), (60_000, 1432), (900, 9)] {
                for tci in [0, 0x2005] {
                    let (frame, meta) = super_frame(kind, len, size);
                    // Head and body may be divided anywhere after the headers.
                    let cut = kind.shape().headers + len / 3;
                    nics[1].control().change(0, |vi| vi.vlans = vec![5]).unwrap();
                    send(&mut a, 0, &frame[..cut], &frame[cut..], Some(Meta { vlan_tci: tci, ..meta }));
                    let got = receive(&mut b, 0);
                    assert_eq!(got.len(), len.div_ceil(size.into()), "{kind:?} {len} {size} {tci}");
                    let mut whole = Vec::new();
                    for (segment, meta) in &got {
                        if kind.tcp() {
                            assert_eq!(seq(segment, kind) as usize, 5000 + whole.len());
                        }
                        let part = checked(segment);
                        assert!(part.len() <= size.into());
                        whole.extend(part);
                        assert_eq!((meta.checksum, meta.vlan.unwrap_or(0)), (Verdict::Good, tci));
                    }
                    assert!(whole == payload(len), "{kind:?} {len} {size} {tci}: the payload is another");
                    (given, segments) = (given + 1, segments + got.len() as u64);
                }
            }
        }
        let count = nics[0].control().counters(0).unwrap();
        assert_eq!(count.of(Count::TxSegmented), given);
        assert_eq!((count.of(Count::TxSegments), count.of(Count::TxFrames)), (segments, segments));
        assert_eq!(nics[1].control().counters(0).unwrap().of(Count::RxFrames), segments);
    }
}

/// Headers prepared once, a new identification and sequence number for each super-frame.
/// Regression: the super-frame by which a sender says that it has reduced its window (RFC 3168, section 6.1.2) was dropped as one
/// whose request is of another kind than its headers.
#[test]
fn a_super_frame_that_says_cwr_leaves_as_segments_of_which_the_first_says_it() {
    const CWR: u8 = 0x80;
    let mut nics = pair("", &config(), &config());
    let [mut a, mut b] = queues(&mut nics);
    nics[1].control().set_flag(0, "-lro").unwrap();
    for kind in [Kind::Tcp4, Kind::Tcp6] {
        let (mut frame, meta) = super_frame(kind, 4000, 1400);
        let flags = usize::from(meta.csum_start) + 13;
        frame[flags] |= CWR;
        let asks = Meta { gso_type: meta.gso_type | Meta::GSO_ECN, ..meta };
        send(&mut a, 0, &frame, &[], Some(asks));
        let got = receive(&mut b, 0);
        let said: Vec<bool> = got.iter().map(|(segment, _)| segment[flags] & CWR != 0).collect();
        assert_eq!(said, [true, false, false], "{kind:?}");
        let whole: Vec<u8> = got.iter().flat_map(|(segment, _)| checked(segment)).collect();
        assert!(whole == payload(4000), "the payload is another");
    }
    assert_eq!(nics[0].control().counters(0).unwrap().of(Count::TxBadRequest), 0);
}

#[test]
fn prepared_headers_serve_one_super_frame_after_the_other() {
    for options in ["", ",buf=512"] {
        let mut nics = pair(options, &config(), &config());
        let [mut a, mut b] = queues(&mut nics);
        for kind in crate::common::KINDS {
            let (frame, _) = super_frame(kind, 30_000, 1400);
            let mut headers = Prepared::new(&frame[..kind.shape().headers]).unwrap();
            for turn in 0..3 {
                headers.set_seq(5000 + turn * 30_000);
                assert!(a.tx.send_prepared(0, &headers, &[&frame[headers.header_len()..]], 1400));
                a.tx.sync(0);
                let got = receive(&mut b, 0);
                assert_eq!(got.len(), if kind.tcp() { 1 } else { 22 }, "{kind:?}: TCP is merged again");
                if kind.tcp() {
                    assert_eq!(seq(&got[0].0, kind), 5000 + turn * 30_000);
                }
                let headers = kind.shape().headers;
                let whole: Vec<u8> = got.iter().flat_map(|(segment, _)| segment[headers..].to_vec()).collect();
                assert!(whole == payload(30_000), "{kind:?}: the payload is another");
                assert!(got.iter().all(|(_, meta)| meta.checksum == Verdict::Good));
            }
        }
        assert_eq!(nics[0].control().counters(0).unwrap().of(Count::TxSegments), 4 * 3 * 22);
    }
}

#[test]
fn what_cannot_be_segmented_or_may_not_is_dropped_with_its_reason() {
    let mut nics = pair("", &config(), &config());
    let [mut a, mut b] = queues(&mut nics);
    let control = nics[0].control();
    let (frame, meta) = super_frame(Kind::Tcp4, 5000, 1400);
    send(&mut a, 0, &frame, &[], Some(Meta { gso_size: 0, ..meta }));
    send(&mut a, 0, &frame, &[], Some(Meta { gso_type: 4, ..meta }));
    send(&mut a, 0, &frame[..54], &[], Some(meta));
    send(&mut a, 0, &frame[..40], &frame[40..], Some(meta));
    send(&mut a, 0, &frame, &[], Some(Meta { gso_size: 1461, ..meta }));
    control.set_flag(0, "-tso4").unwrap();
    a.tx.sync(0);
    send(&mut a, 0, &frame, &[], Some(meta));
    assert!(receive(&mut b, 0).is_empty());
    let count = control.counters(0).unwrap();
    assert_eq!(count.of(Count::TxBadRequest), 4);
    assert_eq!((count.of(Count::TxTooLong), count.of(Count::TxOffloadOff)), (1, 1));
    // TSO6 is controlled separately.
    let (frame, meta) = super_frame(Kind::Tcp6, 5000, 1400);
    send(&mut a, 0, &frame, &[], Some(meta));
    assert_eq!(nics[0].control().counters(0).unwrap().of(Count::TxSegments), 4);
}

#[test]
fn segments_that_follow_each_other_arrive_merged_and_whole() {
    for options in ["", ",buf=512"] {
        let mut nics = pair(options, &config(), &config());
        let [mut a, mut b] = queues(&mut nics);
        nics[1].control().change(0, |vi| vi.vlans = vec![7]).unwrap();
        nics[1].control().set_parameter(0, "rx.rss_queues", "4").unwrap();
        for (kind, tci) in [(Kind::Tcp4, 0), (Kind::Tcp6, 0), (Kind::Tcp4, 7), (Kind::Tcp6, 7)] {
            let (frame, meta) = super_frame(kind, 28_000, 1400);
            assert!(a.tx.send(0, &frame, &[], Some(Meta { vlan_tci: tci, ..meta })));
            let udp = Kind::Udp4.frame(B, &payload(10), 1);
            send(&mut a, 0, &udp, &[], None);
            let got = receive(&mut b, 0);
            assert_eq!(got.len(), 2, "{kind:?}");
            let (merged, about) = got.iter().find(|(bytes, _)| bytes.len() > 1514).unwrap();
            let headers = kind.shape().headers;
            assert_eq!(merged.len(), headers + 28_000);
            assert!(merged[headers..] == payload(28_000), "the payload is another");
            assert_eq!((seq(merged, kind), about.checksum), (5000, Verdict::Good));
            assert_eq!((about.request.gso_size, about.vlan.unwrap_or(0)), (1400, tci));
            // Tag and hash are in separate metadata.
            assert!(about.hash.is_some() && (about.request.vlan_tci, about.request.hash) == (0, 0));
            assert_eq!(about.request.gso_type, meta.gso_type);
            // Its metadata suffices to send it on.
            assert!(b.tx.send(0, merged, &[], Some(about.request)));
            b.tx.sync(0);
            nics[0].control().change(0, |vi| vi.promiscuous = true).unwrap();
            let back = receive(&mut a, 0);
            assert_eq!(back[0].0.len(), merged.len());
            assert!(back[0].0[headers..] == payload(28_000), "the payload is another on its way back");
        }
        let count = nics[1].control().counters(0).unwrap();
        assert_eq!((count.of(Count::RxMerged), count.of(Count::RxFrames)), (4 * 19, 4 * 21));
    }
}

#[test]
fn tags_go_in_and_out_and_stay_where_the_flag_is_off() {
    let mut nics = pair("", &config(), &config());
    let [mut a, mut b] = queues(&mut nics);
    let control = nics[1].control();
    control.change(0, |vi| vi.vlans = vec![100]).unwrap();
    // Longest frame for the MTU; the tag comes on top.
    let frame = Kind::Udp4.frame(B, &payload(1472), 1);
    assert_eq!(frame.len(), 1514);
    let ask = Meta { vlan_tci: 0x6064, ..Meta::default() };
    for cut in [0, 12, 13, 14, 42, frame.len()] {
        if cut >= 12 {
            send(&mut a, 0, &frame[..cut], &frame[cut..], Some(ask));
        } else {
            send(&mut a, 0, &tagged(&frame, 0x6064)[..14], &tagged(&frame, 0x6064)[14..], None);
        }
        let got = receive(&mut b, 0);
        assert_eq!((&got[0].0, got[0].1.vlan, got[0].1.checksum), (&frame, Some(0x6064), Verdict::Good), "{cut}");
    }
    // A checksum and a tag at once.
    let open = Kind::Udp4.open(&frame);
    send(&mut a, 0, &open[..42], &open[42..], Some(Meta { vlan_tci: 100, ..Kind::Udp4.shape().meta }));
    let got = receive(&mut b, 0);
    assert_eq!((&got[0].0, got[0].1.vlan), (&frame, Some(100)));
    control.set_flag(0, "-vlanhwtag").unwrap();
    send(&mut a, 0, &frame, &[], Some(ask));
    let got = receive(&mut b, 0);
    assert_eq!((&got[0].0, got[0].1.vlan, got[0].1.checksum), (&tagged(&frame, 0x6064), None, Verdict::Good));
    // Another VLAN is filtered, until the filter is off.
    send(&mut a, 0, &frame, &[], Some(Meta { vlan_tci: 101, ..Meta::default() }));
    assert!(receive(&mut b, 0).is_empty());
    control.set_flag(0, "-vlanhwfilter").unwrap();
    send(&mut a, 0, &frame, &[], Some(Meta { vlan_tci: 101, ..Meta::default() }));
    assert_eq!(receive(&mut b, 0)[0].0, tagged(&frame, 101));
    let count = control.counters(0).unwrap();
    assert_eq!((count.of(Count::RxVlan), count.of(Count::RxUntagged)), (1, 7));
    assert_eq!(count.arrived(), nics[0].control().counters(0).unwrap().of(Count::TxFrames));
}

#[test]
fn jumbo_frames_pass_in_one_slot_or_in_many() {
    for options in [",mtu=9216", ",mtu=9216,buf=2048"] {
        let mut nics = pair(options, &config(), &config());
        let [mut a, mut b] = queues(&mut nics);
        let control = nics[0].control();
        assert_eq!(control.settings(0).unwrap().mtu, 9216);
        for kind in [Kind::Udp4, Kind::Tcp6] {
            let len = 9216 + 14 - kind.shape().headers;
            let frame = kind.frame(B, &payload(len), 1);
            let open = kind.open(&frame);
            send(&mut a, 0, &frame, &[], None);
            send(&mut a, 0, &open[..60], &open[60..], Some(kind.shape().meta));
            let got = receive(&mut b, 0);
            assert!(got[0].0 == frame, "{kind:?}");
            assert!(got.last().unwrap().0.ends_with(&payload(len)), "{kind:?}");
        }
        control.change(0, |vi| vi.mtu = 9000).unwrap();
        a.tx.sync(0);
        assert!(a.tx.send(0, &Kind::Udp4.frame(B, &payload(8973), 1), &[], None));
        assert_eq!(control.counters(0).unwrap().of(Count::TxTooLong), 1);
        let line = control.set_parameter(0, "mtu", "9217").unwrap_err().to_string();
        assert!(line.contains("68 to 9216"), "{line}");
    }
    let [small, _] = pair("", &config(), &config());
    let line = small.control().set_parameter(0, "mtu", "9000").unwrap_err().to_string();
    assert!(line.contains("68 to 1500") && line.contains("mtu="), "{line}");
}

#[test]
fn the_ends_of_a_cable_in_two_mappings_get_the_same() {
    let id = format!("nicshare{}", std::process::id());
    let left = open(&format!("cable:{id}{{1")).unwrap();
    let right = open(&format!("cable:{id}}}1")).unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while left.link() == Link::Down || right.link() == Link::Down {
        assert!(Instant::now() < until, "the cable does not come up");
        std::thread::sleep(Duration::from_millis(1));
    }
    let with = |mac| NicConfig { mac: Some(mac), ..config() };
    let mut nics = [Nic::new(left, &with(crate::common::A)).unwrap(), Nic::new(right, &with(B)).unwrap()];
    let [mut a, mut b] = queues(&mut nics);
    nics[1].control().change(0, |vi| vi.vlans = vec![9]).unwrap();
    for kind in crate::common::KINDS {
        let frame = kind.frame(B, &payload(700), 1);
        let open = kind.open(&frame);
        send(&mut a, 0, &open[..50], &open[50..], Some(Meta { vlan_tci: 9, ..kind.shape().meta }));
        let got = receive(&mut b, 0);
        assert_eq!((&got[0].0, got[0].1.vlan, got[0].1.checksum), (&frame, Some(9), Verdict::Good), "{kind:?}");
        if kind.tcp() {
            let (frame, meta) = super_frame(kind, 30_000, 1000);
            send(&mut a, 0, &frame, &[], Some(meta));
            let got = receive(&mut b, 0);
            assert!(got.len() == 1 && got[0].0[kind.shape().headers..] == payload(30_000), "{kind:?}");
        }
    }
}

/// Frames of an exchange, in both directions, reach one queue; exchanges are spread; other frames are not hashed.
#[test]
fn exchanges_are_spread_by_ox_id() {
    const RESPONDER: u8 = 0x80;
    let mut nics = pair("", &config(), &config());
    let [mut a, mut b] = queues(&mut nics);
    let control = nics[1].control();
    control.change(0, |vi| vi.vlans = vec![100]).unwrap();
    control.set_parameter(0, "rx.rss_queues", "4").unwrap();
    let fcoe = |ox_id: u16, rx_id: u16, f_ctl: u8| {
        let mut frame = [0; 60];
        frame[..6].copy_from_slice(&B);
        frame[12..14].copy_from_slice(&[0x89, 0x06]);
        frame[28 + 9] = f_ctl;
        frame[44..46].copy_from_slice(&ox_id.to_be_bytes());
        frame[46..48].copy_from_slice(&rx_id.to_be_bytes());
        frame
    };
    let mut got = |frame: &[u8]| {
        send(&mut a, 0, frame, &[], None);
        let about = receive(&mut b, 0)[0].1;
        (about.hash, about.queue)
    };
    let mut queues = [0; 4];
    for ox_id in 0x1230..0x1250 {
        let first = got(&fcoe(ox_id, 0xffff, 0));
        assert_eq!(first, (Some(ox_id.into()), ox_id % 4));
        assert_eq!(got(&fcoe(ox_id, 0x77, 0)), first, "once the responder has named it");
        assert_eq!(got(&fcoe(ox_id, 0x78, RESPONDER)), first, "from the responder");
        assert_eq!(got(&tagged(&fcoe(ox_id, 0x77, 0), 0x6064)), first, "behind a tag");
        queues[usize::from(first.1)] += 1;
    }
    assert_eq!(queues, [8; 4]);
    let mut version = fcoe(5, 5, 0);
    version[14] = 0x40;
    for frame in [&version[..], &fcoe(5, 5, 0)[..59], &fcoe(5, 5, 0)[..16]] {
        assert_eq!(got(frame), (None, 0));
    }
    control.set_flag(0, "-vlanhwtag").unwrap();
    assert_eq!(got(&tagged(&fcoe(7, 5, 0), 0x6064)), (Some(7), 3), "a tag that stays");
    control.set_parameter(0, "rx.rss_types", "ipv4").unwrap();
    assert_eq!(got(&fcoe(7, 5, 0)), (None, 0), "not asked for");
}

#[test]
fn flows_are_spread_by_hash_and_sent_to_queues_by_filters() {
    let mut nics = pair("", &config(), &config());
    let [mut a, mut b] = queues(&mut nics);
    let control = nics[1].control();
    let frame = Kind::Udp4.frame(B, &payload(10), 1);
    send(&mut a, 0, &frame, &[], None);
    assert_eq!(receive(&mut b, 0)[0].1.hash, None, "no work for one queue");
    control.set_parameter(0, "rx.rss_queues", "4").unwrap();
    send(&mut a, 0, &frame, &[], None);
    let about = receive(&mut b, 0)[0].1;
    let input = [&frame[26..34], &frame[34..38]].concat();
    let rss = Rss::new(4);
    let hash = rss.toeplitz().hash(&input);
    assert_eq!((about.hash, about.queue), (Some(hash), rss.queue(hash)));
    let mut steering = Steering::new(4);
    let fields = Match { dst_port: Some(2000), protocol: Some(linerate_wire::IpProtocol::UDP), ..Match::default() };
    let other = if about.queue == 3 { 2 } else { 3 };
    steering.insert(Rule { location: 1, fields, action: Action::Queue(other) }).unwrap();
    control.change(0, |vi| vi.steering = Some(Arc::new(steering.clone()))).unwrap();
    send(&mut a, 0, &frame, &[], None);
    assert_eq!(receive(&mut b, 0)[0].1.queue, other);
    steering.insert(Rule { location: 0, fields, action: Action::Drop }).unwrap();
    control.change(0, |vi| vi.steering = Some(Arc::new(steering))).unwrap();
    send(&mut a, 0, &frame, &[], None);
    assert!(receive(&mut b, 0).is_empty());
    let count = control.counters(0).unwrap();
    assert_eq!((count.of(Count::RxFiltered), count.arrived()), (1, 4));
    assert_eq!(count.of(Count::RxBytes), 3 * frame.len() as u64, "without the one that was dropped");
}

/// Headers of 250 bytes, nearly all of them options of IPv6, and a tag.
#[test]
fn the_longest_headers_are_segmented_too() {
    let mut nics = pair("", &config(), &config());
    let [mut a, mut b] = queues(&mut nics);
    nics[1].control().set_flag(0, "-lro").unwrap();
    nics[1].control().change(0, |vi| vi.vlans = vec![5]).unwrap();
    let (mut frame, meta) = super_frame(Kind::Tcp6, 3000, 1000);
    // Hop-by-hop options: 176 bytes of padding (RFC 8200, section 4.2), then TCP.
    let mut options = vec![0; 176];
    options[..4].copy_from_slice(&[6, 176 / 8 - 1, 1, 172]);
    frame.splice(54..54, options);
    frame[20] = 0;
    let len = u16::from_be_bytes([frame[18], frame[19]]) + 176;
    frame[18..20].copy_from_slice(&len.to_be_bytes());
    let meta = Meta { csum_start: meta.csum_start + 176, hdr_len: meta.hdr_len + 176, vlan_tci: 5, ..meta };
    send(&mut a, 0, &frame, &[], Some(meta));
    let got = receive(&mut b, 0);
    assert_eq!(got.len(), 3);
    let whole: Vec<u8> = got.iter().flat_map(|(segment, _)| checked(segment)).collect();
    assert!(whole == payload(3000) && got.iter().all(|(segment, _)| segment.len() == 1250));
}
