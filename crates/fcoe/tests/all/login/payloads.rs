//! Every link service of the captures parses, and is rebuilt byte for byte.

use crate::login::golden::{self, Message};
use linerate_wire::OxId;
use linerate_wire::*;
use std::collections::{BTreeMap, HashMap};

/// VN2VN's prefix of a VN_Port's MAC address.
const FC_MAP: [u8; 3] = [0x0e, 0xfd, 0];

/// Number of rebuilt payloads by R_CTL, command, and in replies LS_ACC or LS_RJT.
type Seen = BTreeMap<(u8, u8, u8), usize>;

#[derive(Default)]
struct Rebuilt {
    /// Commands of requests whose reply has not come, by who asked, who was asked and OX_ID; the last is the newest.
    /// There may be several: Linux uses an OX_ID again at once, and some requests are never answered.
    asked: HashMap<(FcId, FcId, OxId), Vec<ElsCommand>>,
    seen: Seen,
}

impl Rebuilt {
    fn check(&mut self, header: &FcHeader, payload: &[u8]) {
        let mut built = vec![0xa5; payload.len()];
        let (len, kind) = match header.r_ctl {
            r_ctl::ELS_REQUEST => {
                let request = ElsRequest::parse(payload).unwrap();
                self.asked.entry((header.s_id, header.d_id, header.ox_id)).or_default().push(request.command());
                (request.emit(&mut built).unwrap(), (request.command().0, 0))
            }
            r_ctl::ELS_REPLY => {
                // In fabric mode FLOGI goes to FFFFFE and is answered by an N_Port that has given itself an address.
                let asked = self.asked.entry((header.d_id, header.s_id, header.ox_id)).or_default();
                let fits = |command: &ElsCommand| {
                    ElsReply::parse(*command, payload).and_then(|reply| reply.emit(&mut [0; 2112])) == Ok(payload.len())
                };
                let command = match asked.iter().rposition(fits) {
                    Some(newest) => asked.remove(newest),
                    None => ElsCommand::FLOGI,
                };
                let reply = ElsReply::parse(command, payload).unwrap();
                (reply.emit(&mut built).unwrap(), (command.0, payload[0]))
            }
            r_ctl::BLS_ABTS => (0, (0, 0)),
            r_ctl::BLS_BA_ACC => {
                built.copy_from_slice(&BaAccRepr::parse(payload).unwrap().bytes());
                (BaAccRepr::LEN, (0, 0))
            }
            r_ctl => panic!("R_CTL {r_ctl:02x} is in no capture"),
        };
        assert_eq!((len, &built[..]), (payload.len(), payload), "{header:?}");
        *self.seen.entry((header.r_ctl, kind.0, kind.1)).or_default() += 1;
    }
}

#[test]
fn every_link_service_of_the_captures_is_rebuilt() {
    let mut rebuilt = Rebuilt::default();
    for name in golden::NAMES {
        rebuilt.asked.clear();
        let mut frames = golden::read(name);
        // Two taps on the way of a frame.
        frames.dedup_by(|a, b| a.message == b.message);
        assert!(frames.is_sorted_by_key(|frame| frame.time), "{name}");
        for golden::Frame { src, dst, vlan, message, .. } in frames {
            assert_eq!(vlan, name.starts_with("13").then_some(100));
            match message {
                Message::Fcoe(bytes) => {
                    let frame = FcoeFrame::new_checked(&bytes).unwrap();
                    if !name.starts_with("09") {
                        let FcHeader { s_id, d_id, .. } = *frame.header();
                        assert_eq!((src, dst), (s_id.mac(FC_MAP), d_id.mac(FC_MAP)));
                    }
                    rebuilt.check(frame.header(), frame.payload());
                    assert_eq!(frame.header().bytes(), bytes[14..38]);
                    assert_eq!(FcoeRepr { sof: frame.sof(), eof: frame.eof() }.header(), bytes[..14]);
                }
                Message::Fip { header, payload, .. } => rebuilt.check(&header, &payload),
                Message::Vn2vn { .. } => {}
            }
        }
    }
    let kinds: Vec<_> = rebuilt.seen.keys().copied().collect();
    let (ask, answer) = (r_ctl::ELS_REQUEST, r_ctl::ELS_REPLY);
    let all = [
        (ask, 0x03, 0),
        (ask, 0x04, 0),
        (ask, 0x05, 0),
        (ask, 0x0e, 0),
        (ask, 0x10, 0),
        (ask, 0x13, 0),
        (ask, 0x20, 0),
        (ask, 0x52, 0),
        (answer, 0x03, 1),
        (answer, 0x03, 2),
        (answer, 0x04, 1),
        (answer, 0x04, 2),
        (answer, 0x05, 2),
        (answer, 0x0e, 2),
        (answer, 0x10, 2),
        (answer, 0x13, 1),
        (answer, 0x13, 2),
        (answer, 0x20, 2),
        (answer, 0x52, 2),
        (r_ctl::BLS_ABTS, 0, 0),
        (r_ctl::BLS_BA_ACC, 0, 0),
    ];
    assert_eq!(kinds, all, "{:?}", rebuilt.seen);
    assert!(rebuilt.seen.values().sum::<usize>() > 150, "{:?}", rebuilt.seen);
}
