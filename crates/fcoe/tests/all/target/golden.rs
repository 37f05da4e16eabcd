//! The initiator kernel's frames of the golden captures against our target: it answers as the kernel's target does.

use crate::target::capture::{fcoe, timed};
use crate::target::mock::{Behaviour, Event};
use crate::target::rig::{OURS, Rig, SECOND};
use crate::target::wire::{Sent, crc, frame};
use linerate_fcoe::{ExchangeStatus, Function, Peer, Response, TargetConfig};
use linerate_wire::{
    ExchangeRepr, FcHeader, FcType, FcoeFrame, FcpCommand, FcpResponse, FcpTransferReady, OxId, RxId, f_ctl, r_ctl,
};

/// Recorded exchange of the kernels.
struct Recorded {
    ox_id: OxId,
    data_len: u32,
    ready: Option<FcpTransferReady>,
    /// Data in, as frames.
    data: Vec<Sent>,
    response: Option<Sent>,
}

fn recorded(capture: &[Vec<u8>]) -> Vec<Recorded> {
    let mut exchanges: Vec<Recorded> = Vec::new();
    for frame in capture.iter().filter_map(|frame| fcoe(frame)) {
        let header = *frame.header();
        assert_eq!(frame.crc(), crc(frame.covered()));
        if header.fc_type != FcType::FCP {
            continue;
        }
        let sent = Sent { header, payload: frame.payload().to_vec() };
        if header.r_ctl == r_ctl::COMMAND {
            let data_len = FcpCommand::parse(frame.payload()).unwrap().data_len;
            exchanges.push(Recorded { ox_id: header.ox_id, data_len, ready: None, data: Vec::new(), response: None });
        } else if header.from_responder() {
            let last = exchanges.iter_mut().rev().find(|exchange| exchange.ox_id == header.ox_id).unwrap();
            match header.r_ctl {
                r_ctl::DATA => last.data.push(sent),
                r_ctl::STATUS => last.response = Some(sent),
                _ => last.ready = Some(FcpTransferReady::parse(&sent.payload).unwrap()),
            }
        }
    }
    exchanges
}

/// Behaviour of our device server that can lead to the same answer.
fn plan(exchange: &Recorded) -> Behaviour {
    let data: Vec<u8> = exchange.data.iter().flat_map(|sent| sent.payload.clone()).collect();
    let then = exchange.response.as_ref().map(|sent| {
        let unit = FcpResponse::parse(&sent.payload).unwrap();
        let mut sense = [0; 32];
        let len = unit.sense.len().min(32);
        sense[..len].copy_from_slice(&unit.sense[..len]);
        let wanted = u64::try_from(i64::from(exchange.data_len) + unit.residual).unwrap();
        Response { status: unit.status, sense, sense_len: u8::try_from(len).unwrap(), wanted }
    });
    match (&exchange.ready, then) {
        (Some(ready), then) => {
            Behaviour::Receive(ready.len as usize, then.unwrap_or(crate::target::mock::good(u64::from(ready.len))))
        }
        (None, Some(then)) if data.is_empty() => Behaviour::End(then),
        (None, Some(then)) => Behaviour::Send(data, then),
        (None, None) => Behaviour::Wait,
    }
}

/// Plays a capture: for each exchange, what we sent. `lost` frames of the initiator do not arrive, `drops` are dropped.
fn play(
    name: &str,
    lost: impl Fn(usize) -> bool,
    drops: u64,
    mut seen: impl FnMut(&Rig, &FcoeFrame<'_>),
) -> (Rig, Vec<(Recorded, Vec<Sent>)>) {
    let (times, capture): (Vec<u64>, Vec<Vec<u8>>) = timed(name).into_iter().unzip();
    let recorded = recorded(&capture);
    assert!(!recorded.is_empty());
    let max_payload = if name.starts_with("12") { 1452 } else { 2112 };
    let mut rig = Rig::new(TargetConfig::default(), |peer| Peer { max_payload, ..peer });
    // Task management functions need no plan.
    let mut answers: Vec<Vec<Sent>> = Vec::new();
    for (number, bytes) in capture.iter().enumerate() {
        rig.now = SECOND + times[number];
        let Some(golden) = fcoe(bytes).filter(|frame| frame.header().d_id == OURS && !lost(number + 1)) else {
            continue;
        };
        let mut header = *golden.header();
        if header.has(f_ctl::EXCHANGE_RESPONDER) || !matches!(header.fc_type, FcType::FCP | FcType::BLS) {
            seen(&rig, &golden);
            continue;
        }
        if header.r_ctl == r_ctl::COMMAND {
            if FcpCommand::parse(golden.payload()).unwrap().function == 0 {
                rig.device().plans.push_back(plan(&recorded[answers.len()]));
            }
            answers.push(Vec::new());
        } else if header.rx_id != RxId::UNASSIGNED {
            // The kernel's target had another name for the exchange than we.
            let place = recorded[..answers.len()].iter().rposition(|exchange| exchange.ox_id == header.ox_id).unwrap();
            header.rx_id = answers[place][0].header.rx_id;
        }
        header.f_ctl &= !f_ctl::FILL;
        rig.take(0, &frame(header, golden.sof(), golden.eof(), golden.payload()));
        rig.poll();
        if rig.target.counters().doubted > 0 && rig.wire.frames.is_empty() {
            rig.now += SECOND / 100;
            rig.poll();
        }
        let mut all = rig.wire.all();
        // The kernel gave the name of a READ again at once, for the same READ.
        if let Some(asked) = all.pop_if(|sent| sent.header.r_ctl == r_ctl::ELS_REQUEST) {
            let about = ExchangeRepr::parse(&asked.payload).unwrap();
            assert_eq!((about.ox_id, all.len()), (header.ox_id, 0));
            rig.status(asked.header.ox_id, about, 0);
            rig.now += SECOND / 100;
            rig.poll();
            all = rig.wire.all();
        }
        for sent in all {
            if sent.header.fc_type == FcType::FCP {
                let place = recorded[..answers.len()].iter().rposition(|exchange| exchange.ox_id == sent.header.ox_id);
                answers[place.unwrap()].push(sent);
            } else {
                assert_eq!((sent.header.r_ctl, sent.header.ox_id), (r_ctl::BLS_BA_ACC, header.ox_id));
            }
        }
    }
    assert_eq!(rig.target.counters().drops(), drops, "{:?}", rig.target.counters());
    let both = recorded.into_iter().zip(answers).collect();
    (rig, both)
}

/// Our frames of an exchange are the kernel's, but for the RX_ID, F_CTL of a function's response and sense data that the
/// kernel fills up.
fn same(recorded: &Recorded, sent: &[Sent]) {
    let mut sent = sent.iter();
    if let Some(ready) = &recorded.ready {
        let ours = sent.next().unwrap();
        assert_eq!(
            (ours.header.f_ctl, ours.header.seq_id, ours.payload[..].to_vec()),
            (0x89_0000, 1, ready.bytes().to_vec())
        );
    }
    for golden in &recorded.data {
        let ours = sent.next().unwrap();
        assert_eq!(FcHeader { rx_id: RxId(0), ..ours.header }, FcHeader { rx_id: RxId(0), ..golden.header });
        assert_eq!(ours.payload, golden.payload);
    }
    if let Some(golden) = &recorded.response {
        let ours = sent.next().unwrap();
        let (unit, expected) =
            (FcpResponse::parse(&ours.payload).unwrap(), FcpResponse::parse(&golden.payload).unwrap());
        let mut header = FcHeader { rx_id: golden.header.rx_id, ..ours.header };
        if expected.code.is_some() {
            header.f_ctl |= f_ctl::SEQUENCE_INITIATIVE;
        }
        assert_eq!(header, golden.header);
        assert!(
            expected.sense.starts_with(unit.sense) && expected.sense[unit.sense.len()..].iter().all(|byte| *byte == 0)
        );
        assert_eq!(FcpResponse { sense: &[], ..unit }, FcpResponse { sense: &[], ..expected });
        if unit.sense.is_empty() {
            assert_eq!(ours.payload, golden.payload);
        }
    }
    assert_eq!(sent.next(), None);
}

#[test]
fn scan_reads_writes_and_a_reset() {
    let (mut rig, exchanges) = play("02-scsi-scan-rw-tmf-echo.pcap", |_| false, 0, |_, _| ());
    for (recorded, sent) in &exchanges {
        same(recorded, sent);
    }
    assert_eq!(exchanges.len(), 49);
    assert_eq!(rig.target.exchanges(), 0);
    assert_eq!(rig.device().away, 0);
    let written: usize =
        rig.device().events.iter().map(|event| if let Event::Received(data) = event { data.len() } else { 0 }).sum();
    assert_eq!(written, 4096 + 32768);
}

/// Status for a REC, if the frame is one (FC-LS-3, Read Exchange Concise): its S_ID, OX_ID and RX_ID are behind the
/// command word.
fn rec(rig: &Rig, frame: &FcoeFrame<'_>) -> Option<Option<ExchangeStatus>> {
    if frame.payload()[0] != 0x13 || !frame.header().has(f_ctl::FIRST_SEQUENCE) {
        return None;
    }
    let [ox_id, rx_id] = [8, 10].map(|at| u16::from_be_bytes([frame.payload()[at], frame.payload()[at + 1]]));
    Some(rig.target.exchange_status(frame.header().s_id, OxId(ox_id), RxId(rx_id)))
}

#[test]
fn a_lost_frame_of_data_out_is_told_by_rec_and_aborted() {
    let mut told = Vec::new();
    let name = "04-write-data-lost-rec-abts-ba_acc-retry.pcap";
    let (mut rig, exchanges) = play(name, |number| number == 10, 0, |rig, frame| told.extend(rec(rig, frame)));
    // Seven frames came; the initiative is the initiator's, so it need not wait (the kernel's target says that it has it).
    let status = ExchangeStatus { rx_id: RxId(0), transferred: 7 * 2048, status: 0x8000_0000 };
    assert_eq!(told, [Some(status), Some(status)]);
    assert_eq!(exchanges[0].1.len(), 1, "FCP_XFER_RDY and no response");
    same(&exchanges[1].0, &exchanges[1].1);
    let events = &rig.device().events;
    assert_eq!(events[2], Event::Abort(0));
    assert!(matches!(&events[3], Event::Received(data) if data.len() == 32768));
    assert_eq!((rig.target.counters().early, rig.target.counters().aborted, rig.device().away), (8, 1, 0));
    // Until RRQ comes, or R_A_TOV is over, the aborted exchange keeps its names.
    assert_eq!(rig.target.exchanges(), 1);
    assert!(rig.target.reinstate(rig.peers[0].fc_id, OxId(0), RxId(0)));
    assert_eq!(rig.target.exchanges(), 0);
}

#[test]
fn rec_for_a_read_that_was_answered_finds_nothing() {
    let mut told = Vec::new();
    let name = "05-read-data-lost-rec-rjt-retry.pcap";
    let (rig, exchanges) = play(name, |_| false, 0, |rig, frame| told.extend(rec(rig, frame)));
    assert_eq!(told, [None], "LS_RJT: the kernel sends the command again");
    // The capture ends within the third.
    for (recorded, sent) in &exchanges[..2] {
        same(recorded, sent);
    }
    assert_eq!(rig.target.counters().commands, 3);
}

#[test]
fn abts_without_our_name_is_answered_and_a_reset_ends_tasks() {
    let mut told = Vec::new();
    let name = "06-abts-unanswered-lureset-logo-relogin.pcap";
    let (mut rig, exchanges) = play(name, |_| false, 0, |rig, frame| told.extend(rec(rig, frame)));
    for (recorded, sent) in exchanges.iter().filter(|(recorded, _)| recorded.response.is_some()) {
        same(recorded, sent);
    }
    assert!(told.iter().flatten().all(|status| status.status & 0x8000_0000 != 0));
    let resets =
        rig.device().events.iter().filter(|event| matches!(event, Event::Manage(Function::LogicalUnitReset, _)));
    assert_eq!((resets.count(), rig.target.counters().functions), (2, 2));
    assert_eq!(rig.device().away, 0);
}

#[test]
fn small_frames_of_data_out_are_placed() {
    let (mut rig, exchanges) = play("12-mtu1500-login-write.pcap", |_| false, 0, |_, _| ());
    same(&exchanges[0].0, &exchanges[0].1);
    assert_eq!(exchanges[1].1.len(), 1, "the capture ends within the second");
    assert!(matches!(&rig.device().events[2], Event::Received(data) if data.len() == 65536));
}

#[test]
fn a_slow_command_is_told_to_be_at_work() {
    let mut told = Vec::new();
    let (_, exchanges) =
        play("14-slow-target-rec-rejected-eio.pcap", |_| false, 0, |rig, frame| told.extend(rec(rig, frame)));
    // The kernel's target rejects REC, which has no RX_ID; ours answers that it has the initiative: the initiator
    // waits.
    assert_eq!(told.len(), 6);
    for (rx_id, status) in (0..).zip(told) {
        assert_eq!(status, Some(ExchangeStatus { rx_id: RxId(rx_id), transferred: 0, status: 0xc000_0000 }));
    }
    same(&exchanges[6].0, &exchanges[6].1);
}
