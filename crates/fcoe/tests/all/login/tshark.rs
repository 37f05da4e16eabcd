//! Check of our link services by an independent decoder.

use crate::login::world::*;
use linerate_fcoe::*;
use linerate_text::hex;
use linerate_wire::*;
use linerate_wire::{OxId, RxId};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// A capture file of Ethernet frames.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let header: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65535, 1];
    let mut bytes: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    for (frame, time) in frames.iter().zip(1_u32..) {
        let len = u32::try_from(frame.len()).unwrap();
        bytes.extend([time, 0, len, len].into_iter().flat_map(u32::to_le_bytes));
        bytes.extend(frame);
    }
    bytes
}

/// The Ethernet frame of what was sent inside FIP: a link service descriptor and the sender's MAC descriptor (FC-BB-6,
/// FIP operations).
fn fip(sent: &Sent, src: &NeighbourInfo) -> Vec<u8> {
    let reply = sent.header.r_ctl == r_ctl::ELS_REPLY;
    let login =
        [ElsCommand::FLOGI, ElsCommand::LS_ACC].contains(&sent.command()) && sent.payload.len() == LoginRepr::LEN;
    let descriptor = [&[if login { 7 } else { 9 }, 0, 0, 0], &sent.header.bytes()[..], &sent.payload].concat();
    let words = u8::try_from(descriptor.len() / 4).unwrap();
    let mut bytes = [&sent.dst.0[..], &src.enode_mac.0, &[0x89, 0x14]].concat();
    bytes.extend([0x10, 0, 0, 2, 0, 1 + u8::from(reply), 0, words + 2, 0, 0]);
    bytes.extend(descriptor);
    let descriptor = bytes.len() - usize::from(words) * 4;
    bytes[descriptor + 1] = words;
    bytes.extend([2, 2]);
    bytes.extend(src.vn_mac.0);
    bytes.resize(bytes.len().max(60), 0);
    bytes
}

/// The Ethernet frame of what was sent.
fn ethernet(sent: &Sent) -> Vec<u8> {
    let src = neighbour(u16::try_from(sent.header.s_id.value()).unwrap(), None);
    if sent.fip {
        return fip(sent, &src);
    }
    [&sent.dst.0[..], &src.vn_mac.0, &[0x89, 0x06], &fcoe(&sent.header, &sent.payload)].concat()
}

/// Link services of authentications: of both names, in each role, of one that fails, and of one whose response is none.
fn authentications() -> Vec<Sent> {
    let secret = |text: &str| Secret::new(text.as_bytes()).unwrap();
    let mut all = Vec::new();
    for (own, expected) in [("the first secret", "another secret"), ("the first secret", "the first secret")] {
        let [mut target, mut initiator] =
            [(1, TARGET, 2), (2, INITIATOR, 1)].map(|(us, role, them)| Scene::new(us, role, them));
        let of = |own: &str, name: u16, other: &str| AuthConfig {
            own: Some(secret(own)),
            names: std::iter::once((neighbour(name, None).wwpn, secret(other))).collect(),
            all: true,
            ..AuthConfig::default()
        };
        target.logins.authenticate_with(of("the second secret", 2, expected), [1; 32]);
        initiator.logins.authenticate_with(of(own, 1, "the second secret"), [2; 32]);
        initiator.beacon(Some(TARGET));
        let mut under_way = initiator.ways.take();
        while !under_way.is_empty() {
            for sent in std::mem::take(&mut under_way) {
                all.push(sent.clone());
                let to = if sent.header.d_id == FcId::new(1) { &mut target } else { &mut initiator };
                match sent.fip {
                    true => to.fip(&sent.header, &sent.payload),
                    false => to.frame(to.info.vn_mac, &sent.header, &sent.payload),
                }
                under_way.extend(to.ways.take());
            }
        }
        assert_eq!(target.logins.peers().count(), usize::from(own == expected));
    }
    all
}

/// Frames of every kind that our machine sends, and between them those of the other side, without which there is no
/// telling what a reply means.
fn all_kinds() -> Vec<Sent> {
    // Logged in as the greater name, with each request of ours.
    let mut greater = Scene::new(9, TARGET, 2);
    greater.beacon(None);
    for _ in 0..3 {
        let asked = greater.ways.only();
        match asked.command() {
            ElsCommand::PRLI => greater.answer(&asked, &page(ServicePage::EXECUTED, 0x1a2)),
            _ => greater.answer(&asked, &parameters(2).bytes(ElsCommand::LS_ACC)),
        }
    }
    let rtv = greater.ways.only();
    greater.answer(&rtv, &RtvAccRepr { r_a_tov: 4000, e_d_tov: 2000, qualifier: 0 }.bytes());

    // As the lesser name, with each reply.
    let mut lesser = Scene::ready();
    lesser.beacon(None);
    let adisc = lesser.ways.only();
    let NeighbourInfo { wwpn: port_name, wwnn: node_name, fc_id: id, .. } = lesser.info;
    let them = AdiscRepr { hard_address: FcId::new(0), port_name, node_name, id };
    lesser.answer(&adisc, &them.bytes(ElsCommand::LS_ACC));
    let exchange = ExchangeRepr { originator: id, ox_id: OxId(5), rx_id: RxId(7) };
    let status = ExchangeStatus { rx_id: RxId(7), transferred: 4096, status: e_stat::SEQUENCE_INITIATIVE };
    lesser.ways.exchange = Some((id, OxId(5), status));
    for request in [
        ElsRequest::Adisc(them),
        ElsRequest::Rtv,
        ElsRequest::Rec(exchange),
        ElsRequest::Rec(ExchangeRepr { ox_id: OxId(6), ..exchange }),
        ElsRequest::Rrq(exchange),
        ElsRequest::Echo(b"no word"),
        ElsRequest::Plogi(parameters(2)),
    ] {
        lesser.ask(&request);
    }
    lesser.prli(0x1a2);
    lesser.ask_bytes(&ServicePage::fcp(0, 0).payload(ElsCommand::PRLO));
    let abort = FcHeader { r_ctl: r_ctl::BLS_ABTS, fc_type: FcType::BLS, f_ctl: 0x09_0000, ..request(2, 1, OxId(99)) };
    lesser.frame(lesser.info.vn_mac, &abort, &[]);
    lesser.ask_fip(&ElsRequest::Flogi(parameters(2)));
    lesser.ways.take();
    lesser.beacon(None);
    lesser.ask_fip(&ElsRequest::Flogi(parameters(2)));
    lesser.ask_fip(&ElsRequest::Logo(LogoRepr { id, port_name }));
    // A logout of ours.
    let mut leaving = Scene::ready();
    leaving.logins.log_out_all(0, &mut leaving.ways);
    let logo = leaving.ways.only();
    leaving.trace = vec![logo.clone()];
    leaving.answer(&logo, &[2, 0, 0, 0]);
    [greater.trace, lesser.trace, leaving.trace, authentications()].concat()
}

#[test]
fn tshark_reads_all_our_link_services() {
    let all = all_kinds();
    let frames: Vec<_> = all.iter().map(ethernet).collect();
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = dir.join(format!("link-services-{}.pcap", std::process::id()));
    std::fs::write(&path, pcap(&frames)).unwrap();
    let fields = ["frame.number", "fc.r_ctl", "fc.s_id", "fc.d_id", "fc.ox_id", "fcels.opcode", "fcoe.crc.status"];
    let complaints = ["_ws.malformed", "_ws.expert.message"];
    let of_auth = ["opcode", "tid", "len", "dhchap.hashtype", "dhchap.dhgid", "dhchap.chalval", "dhchap.dhvalue"];
    let of_auth = of_auth.map(|field| format!("fcsp.{field}"));
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(&path).args(["-T", "fields"]).stderr(Stdio::null());
    let output = command
        .args(
            fields
                .into_iter()
                .chain(complaints)
                .chain(of_auth.iter().map(String::as_str))
                .flat_map(|field| ["-e", field]),
        )
        .output();
    std::fs::remove_file(&path).unwrap();
    let Ok(output) = output else {
        linerate_skip::skip!("tshark is not installed");
        return;
    };
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), frames.len());
    let (mut named, mut messages) = (BTreeSet::new(), BTreeSet::new());
    for (line, sent) in text.lines().zip(&all) {
        let fields: Vec<_> = line.split('\t').collect();
        let id = |id: FcId| {
            let [a, b, c] = id.bytes();
            format!("{a:02x}.{b:02x}.{c:02x}")
        };
        let header = sent.header;
        let number = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16);
        assert_eq!(number(fields[1]), Ok(header.r_ctl.into()), "{line}");
        assert_eq!((fields[2], fields[3]), (&id(header.s_id)[..], &id(header.d_id)[..]), "{line}");
        assert_eq!(number(fields[4]), Ok(header.ox_id.0.into()), "{line}");
        if !fields[5].is_empty() {
            assert_eq!(number(fields[5]), Ok(sent.command().0.into()), "{line}");
            named.insert(sent.command().0);
        }
        if sent.command() == ElsCommand::AUTH {
            let of = AuthHeader::parse(&sent.payload).unwrap();
            assert_eq!((number(fields[9]), number(fields[10])), (Ok(of.code.0.into()), Ok(of.transaction)), "{line}");
            assert_eq!(fields[11].parse(), Ok(of.len), "{line}");
            messages.insert(of.code.0);
            if let Ok(AuthBody::Challenge { challenge, dh, .. }) = AuthBody::parse(of.code, &sent.payload[12..]) {
                assert_eq!((fields[12], fields[13], fields[14]), ("6", "4", &hex(challenge)[..]), "{line}");
                assert_eq!(fields[15], hex(dh), "{line}");
            }
        }
        // FIP has no CRC.
        assert_eq!(fields[6], if sent.fip { "" } else { "1" }, "{line}");
        assert_eq!(fields[7..9], ["", ""], "{line}");
    }
    // Some of its versions have no name for RTV and ECHO.
    assert!(named.is_superset(&BTreeSet::from([1, 2, 3, 4, 5, 0x12, 0x13, 0x20, 0x21, 0x52])), "{named:x?}");
    assert_eq!(messages, BTreeSet::from([0x0a, 0x0b, 0x10, 0x11, 0x12]));
}
