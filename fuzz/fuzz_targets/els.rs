//! Link services: every payload as every request and reply, and in any order at a machine that logs in with a
//! neighbour.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_fcoe::*;
use linerate_wire::*;
use linerate_wire::{OxId, RxId};
use std::collections::BTreeSet;

const SECOND: u64 = 1_000_000_000;

/// What parses is written again as it was understood.
fn payload(bytes: &[u8]) {
    let mut buffer = [0xa5; 70_000];
    if let Ok(request) = ElsRequest::parse(bytes) {
        let len = request.emit(&mut buffer).expect("what was parsed can be written");
        assert!(len <= bytes.len());
        assert_eq!(ElsRequest::parse(&buffer[..len]), Ok(request));
    }
    for command in [ElsCommand::FLOGI, ElsCommand::PRLI, ElsCommand::ADISC, ElsCommand::RTV, ElsCommand::REC] {
        if let Ok(reply) = ElsReply::parse(command, bytes) {
            let len = reply.emit(&mut buffer).expect("what was parsed can be written");
            assert!(len <= bytes.len());
            assert_eq!(ElsReply::parse(command, &buffer[..len]), Ok(reply));
        }
    }
    if let Ok(message) = AuthMessage::parse(bytes) {
        if let Ok(body) = AuthBody::parse(message.header.code, message.body) {
            let again = body.message(message.header.transaction).expect("what was parsed can be written");
            let again = AuthMessage::parse(&again).expect("what was written is a message");
            assert_eq!(AuthBody::parse(again.header.code, again.body), Ok(body));
        }
    }
    if let Ok(accept) = BaAccRepr::parse(bytes) {
        assert_eq!(BaAccRepr::parse(&accept.bytes()), Ok(accept));
    }
    if let Ok(reject) = BaRjtRepr::parse(bytes) {
        assert_eq!(BaRjtRepr::parse(&reject.bytes()), Ok(reject));
    }
}

/// Counts what is sent, and keeps the OX_ID of the last request.
struct Count {
    sent: usize,
    ox_id: OxId,
}

impl Count {
    fn take(&mut self, header: &FcHeader) -> bool {
        self.sent += 1;
        if header.r_ctl == r_ctl::ELS_REQUEST {
            self.ox_id = header.ox_id;
        }
        true
    }
}

impl Ways for Count {
    fn fip(&mut self, _: &NeighbourInfo, header: &FcHeader, bytes: &[u8]) -> bool {
        payload(bytes);
        self.take(header)
    }

    fn fc(&mut self, sequence: &Sequence<'_>) -> bool {
        assert!(sequence.payload.iter().map(|piece| piece.len()).sum::<usize>() <= sequence.max_payload);
        self.take(&sequence.header)
    }

    fn exchange_status(&mut self, _: &Peer, _: FcId, ox_id: OxId, rx_id: RxId) -> Option<ExchangeStatus> {
        (ox_id.0 % 2 == 0).then_some(ExchangeStatus { rx_id, transferred: 0, status: e_stat::COMPLETE })
    }
}

/// A port of the captures.
fn port(last: u8) -> NeighbourInfo {
    let enode_mac = MacAddr([0x52, 0x54, 0, 0xfc, 0x0e, last]);
    let fc_id = FcId::from_bytes([0, 0x0e, last]);
    NeighbourInfo {
        wwpn: Wwn::from_mac(0x2000, enode_mac),
        wwnn: Wwn::from_mac(0x1000, enode_mac),
        fc_id,
        enode_mac,
        vn_mac: fc_id.mac([0x0e, 0xfd, 0]),
        max_fcoe_size: 2158,
        role: None,
    }
}

/// An FCoE frame; its CRC is looked at before it comes here.
fn fcoe(header: &FcHeader, payload: &[u8]) -> Vec<u8> {
    let repr = FcoeRepr { sof: Sof::I3, eof: Eof::T };
    let mut bytes = [&repr.header()[..], &header.bytes(), payload].concat();
    // 38 bytes stand before the payload, which is a number of words.
    bytes.resize((bytes.len() - 38).next_multiple_of(4) + 38, 0);
    bytes.extend(repr.trailer(0));
    bytes
}

/// Steps of `kind, length in two bytes, bytes`: link services in FCoE and in FIP, beacons, time.
fn machine(mut steps: &[u8]) {
    let (us, them) = (port(2), port(1));
    let mut logins = Logins::new(&LoginConfig {
        wwpn: us.wwpn,
        wwnn: us.wwnn,
        role: Role { target: true, initiator: true },
        max_payload: 2112,
        retry: true,
        confirm: true,
        vlan: None,
        peers: 4,
    });
    // In every other run the neighbour must prove its name, or may ask us for ours.
    if let [chosen, ..] = steps
        && chosen & 16 != 0
    {
        let secret = |text: &str| Secret::new(text.as_bytes());
        let names = secret("of the neighbour").map(|secret| (them.wwpn, secret)).into_iter().collect();
        let all = chosen & 32 != 0;
        logins.authenticate_with(
            AuthConfig { own: secret("of our own name"), names, all, ..AuthConfig::default() },
            [1; 32],
        );
    }
    logins.set_own(Some((us.fc_id, us.vn_mac)));
    let (mut ways, mut now, mut up) = (Count { sent: 0, ox_id: OxId::UNASSIGNED }, 0, BTreeSet::new());
    while let [kind, high, low, rest @ ..] = steps {
        let (bytes, rest) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])).min(rest.len()));
        steps = rest;
        let before = ways.sent;
        let number = bytes.first_chunk().map_or(0, |number| u16::from_be_bytes(*number));
        // A reply is to the last request if its kind says so: captured ids are not ours.
        let header = FcHeader::parse(bytes)
            .map(|header| FcHeader { ox_id: if kind & 4 != 0 { ways.ox_id } else { header.ox_id }, ..header });
        match (kind & 3, header) {
            (0, Ok(header)) => {
                payload(&bytes[24..]);
                let bytes = fcoe(&header, &bytes[24..]);
                let link = Link { src: them.vn_mac, dst: us.vn_mac, vlan: None };
                if let Ok(frame) = FcoeFrame::new_checked(&bytes) {
                    logins.handle(now, &link, &frame, &mut ways);
                }
            }
            (1, Ok(header)) => {
                payload(&bytes[24..]);
                let (mac, neighbour) = (Some(them.vn_mac), (kind & 8 != 0).then_some(them));
                let els = TunneledEls { src: them.enode_mac, mac, neighbour, header, payload: &bytes[24..] };
                logins.handle_fip_els(now, &els, &mut ways);
            }
            (2, _) => {
                let info = NeighbourInfo { max_fcoe_size: number, ..them };
                logins.neighbour_beacon(now, &info, &mut ways);
            }
            (3, _) => {
                now += u64::from(number) * SECOND / 16;
                logins.poll(now, &mut ways);
            }
            _ => {}
        }
        assert!(ways.sent - before <= 4);
        while let Some(event) = logins.poll_event() {
            match event {
                LoginEvent::Up(peer) => assert!(up.insert(peer.id)),
                LoginEvent::Changed(peer) => assert!(up.contains(&peer.id)),
                LoginEvent::Down(id, _) => assert!(up.remove(&id)),
                LoginEvent::NameTaken(_) | LoginEvent::Authenticated(..) | LoginEvent::Unauthenticated(..) => {}
            }
        }
        assert_eq!(logins.peers().count(), up.len());
    }
}

fuzz_target!(|bytes: &[u8]| {
    payload(bytes);
    machine(bytes);
});
