use super::*;
use crate::{Error, FcId, OxId, RxId, Wwn};

const PLOGI: LoginRepr = LoginRepr {
    version: 0x2020,
    bb_credit: 10,
    features: LoginRepr::CONTINUOUS_OFFSET,
    bb_sc_n: 0xa,
    receive_size: 2112,
    sequences: 255,
    relative_offset: 0x1f,
    e_d_tov: 2000,
    port_name: Wwn(0x2000_5254_00fc_0e02),
    node_name: Wwn(0x1000_5254_00fc_0e02),
    class_3: ClassParameters {
        options: ClassParameters::VALID | ClassParameters::SEQUENTIAL_DELIVERY,
        initiator_control: 1,
        recipient_control: 2,
        receive_size: 2112,
        sequences: 255,
        credit: 3,
        open_sequences: 1,
    },
};

/// Every request, with the place of its last byte that means something.
fn requests() -> [ElsRequest<'static>; 13] {
    const PAGES: [u8; 36] = {
        let mut bytes = [0; 36];
        (bytes[0], bytes[1], bytes[3], bytes[4], bytes[20], bytes[35]) = (0x20, 16, 36, 8, 9, 0xb2);
        bytes
    };
    let pages = ServicePages::new_checked(&PAGES).unwrap();
    let exchange = ExchangeRepr { originator: FcId::new(0x0e01), ox_id: OxId(0x1234), rx_id: RxId::UNASSIGNED };
    let (id, port_name, node_name) = (FcId::new(0x0e01), Wwn(7), Wwn(8));
    [
        ElsRequest::Flogi(PLOGI),
        ElsRequest::Fdisc(PLOGI),
        ElsRequest::Plogi(PLOGI),
        ElsRequest::Prli(pages),
        ElsRequest::Prlo(pages),
        ElsRequest::Logo(LogoRepr { id, port_name }),
        ElsRequest::Adisc(AdiscRepr { hard_address: FcId::new(0xef), port_name, node_name, id }),
        ElsRequest::Rtv,
        ElsRequest::Rec(exchange),
        ElsRequest::Rrq(exchange),
        ElsRequest::Echo(b"echo"),
        ElsRequest::Test(b"test!"),
        ElsRequest::Auth(AuthMessage {
            header: AuthHeader { flags: 0, code: AuthCode::REJECT, version: 1, len: 4, transaction: 0x0102_0304 },
            body: &[1, 5, 0, 0],
        }),
    ]
}

#[test]
fn requests_are_read_as_they_were_written_and_no_shorter() {
    for request in requests() {
        let mut buffer = [0xa5; 128];
        let len = request.emit(&mut buffer).unwrap();
        assert_eq!(ElsRequest::parse(&buffer[..len]), Ok(request));
        assert_eq!(buffer[len..], [0xa5; 128][len..], "nothing is written behind it");
        assert_eq!(request.emit(&mut buffer[..len - 1]), Err(Error::Truncated("els")), "{request:?}");
        assert_eq!(ElsCommand::of(&buffer), request.command());
        if !matches!(request, ElsRequest::Echo(_) | ElsRequest::Test(_)) {
            assert_eq!(ElsRequest::parse(&buffer[..len - 1]), Err(Error::Truncated("els")), "{request:?}");
        }
    }
    assert_eq!(ElsRequest::parse(&[0x78, 0, 0, 0]), Err(Error::Malformed("els", "command")));
    assert_eq!(ElsRequest::parse(&[]), Err(Error::Truncated("els")));
}

#[test]
fn replies_are_read_by_who_asked() {
    let page = ServicePage::fcp(ServicePage::IMAGE_PAIR | ServicePage::EXECUTED, fcp_service::TARGET);
    assert_eq!(page.response(), ServicePage::EXECUTED);
    let pages = page.payload(ElsCommand::LS_ACC);
    let pages = ServicePages::new_checked(&pages).unwrap();
    assert_eq!((pages.fcp(), pages.len(), pages.is_empty()), (Some(page), 20, false));
    let rtv = RtvAccRepr { r_a_tov: 4000, e_d_tov: 2000, qualifier: 0 };
    assert_eq!(rtv.e_d_tov_ns(), 2_000_000_000);
    assert_eq!(RtvAccRepr { qualifier: RtvAccRepr::NANOSECONDS, ..rtv }.e_d_tov_ns(), 2000);
    let rec = RecAccRepr {
        ox_id: OxId(1),
        rx_id: RxId(2),
        originator: FcId::new(3),
        responder: FcId::new(4),
        transferred: 5,
        status: e_stat::RESPONDER | e_stat::SEQUENCE_INITIATIVE,
    };
    let adisc = AdiscRepr { hard_address: FcId::new(0), port_name: Wwn(1), node_name: Wwn(2), id: FcId::new(3) };
    for (command, accept) in [
        (ElsCommand::FLOGI, ElsAccept::Login(PLOGI)),
        (ElsCommand::FDISC, ElsAccept::Login(PLOGI)),
        (ElsCommand::PLOGI, ElsAccept::Login(PLOGI)),
        (ElsCommand::PRLI, ElsAccept::Process(pages)),
        (ElsCommand::PRLO, ElsAccept::Process(pages)),
        (ElsCommand::ADISC, ElsAccept::Adisc(adisc)),
        (ElsCommand::RTV, ElsAccept::Rtv(rtv)),
        (ElsCommand::REC, ElsAccept::Rec(rec)),
        (ElsCommand::ECHO, ElsAccept::Echo(b"echo")),
        (ElsCommand::LOGO, ElsAccept::Plain),
        (ElsCommand::RRQ, ElsAccept::Plain),
        (ElsCommand::AUTH, ElsAccept::Plain),
    ] {
        let reject = LsRjtRepr { reason: els_reason::LOGICAL_ERROR, explanation: els_explanation::EXCHANGE, vendor: 9 };
        for reply in [ElsReply::Accept(accept), ElsReply::Reject(reject)] {
            let mut buffer = [0xa5; 128];
            let len = reply.emit(&mut buffer).unwrap();
            assert_eq!(ElsReply::parse(command, &buffer[..len]), Ok(reply));
            if reply != ElsReply::Accept(ElsAccept::Echo(b"echo")) {
                assert_eq!(ElsReply::parse(command, &buffer[..len - 1]), Err(Error::Truncated("els")), "{reply:?}");
            }
        }
    }
    assert_eq!(ElsReply::parse(ElsCommand::RTV, &[3, 0, 0, 0]), Err(Error::Malformed("els", "reply")));
}

#[test]
fn pages_are_as_many_as_the_length_says() {
    let page = ServicePage::fcp(ServicePage::IMAGE_PAIR, 0x1a2);
    let mut bytes = page.payload(ElsCommand::PRLI);
    // The initiator's PRLI of the Linux kernel.
    assert_eq!(bytes, [0x20, 16, 0, 20, 8, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xa2]);
    bytes[3] = 36;
    assert_eq!(ServicePages::new_checked(&bytes), Err(Error::Truncated("els")));
    for (page_len, len, problem) in
        [(16, 19, "payload length"), (16, 4, "payload length"), (16, 0, "payload length"), (15, 20, "page length")]
    {
        (bytes[1], bytes[3]) = (page_len, len);
        assert_eq!(ServicePages::new_checked(&bytes), Err(Error::Malformed("els", problem)));
    }
    let many = std::iter::repeat_n(page, 4096);
    assert_eq!(
        ServicePages::emit(ElsCommand::PRLI, many, &mut []),
        Err(Error::TooLarge("els", "page count")),
        "the length has 16 bits"
    );
}

#[test]
fn basic_replies_are_read_as_they_were_written() {
    let accept =
        BaAccRepr { last_seq_id: Some(2), ox_id: OxId(1), rx_id: RxId(3), low_seq_cnt: 0, high_seq_cnt: 0xffff };
    for accept in [accept, BaAccRepr { last_seq_id: None, ..accept }] {
        assert_eq!(BaAccRepr::parse(&accept.bytes()), Ok(accept));
        assert_eq!(BaAccRepr::parse(&accept.bytes()[..11]), Err(Error::Truncated("els")));
    }
    let reject = BaRjtRepr { reason: BaRjtRepr::LOGICAL_ERROR, explanation: BaRjtRepr::INVALID_EXCHANGE, vendor: 0 };
    assert_eq!(reject.bytes(), [0, 3, 3, 0]);
    assert_eq!(BaRjtRepr::parse(&reject.bytes()), Ok(reject));
    assert_eq!(BaRjtRepr::parse(&[0; 3]), Err(Error::Truncated("els")));
}

/// Each message of DH-CHAP, and its bytes behind the header.
#[test]
fn messages_of_authentication_are_read_as_they_were_written_and_no_other() {
    let (hashes, groups) = ([0, 0, 0, 6, 0, 0, 0, 5], [0, 0, 0, 4, 0, 0, 0, 0, 9]);
    let lists = (AuthNumbers::new(&hashes), AuthNumbers::new(&groups));
    assert_eq!(lists.1.iter().collect::<Vec<_>>(), [4, 0], "the ninth byte is of no number");
    let name = Wwn(0x2000_5254_00fc_0e02);
    let of_name = [0, 1, 0, 8, 0x20, 0, 0x52, 0x54, 0, 0xfc, 0x0e, 2];
    let offer = [0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 1, 0, 1, 0, 2, 0, 0, 0, 6, 0, 0, 0, 5, 0, 2, 0, 2, 0, 0, 0, 4];
    let cases: [(AuthBody<'_>, AuthCode, Vec<u8>); 6] = [
        (AuthBody::Reject { reason: 1, explanation: 5 }, AuthCode::REJECT, vec![1, 5, 0, 0]),
        (
            AuthBody::Negotiate { name, dh_chap: Some(lists) },
            AuthCode::NEGOTIATE,
            [&of_name[..], &offer, &[0; 4]].concat(),
        ),
        (AuthBody::Done, AuthCode::DONE, Vec::new()),
        (
            AuthBody::Challenge { name, hash: auth_hash::SHA_1, group: 4, challenge: b"cha", dh: b"dh" },
            AuthCode::CHALLENGE,
            [&of_name[..], &[0, 0, 0, 6, 0, 0, 0, 4, 0, 0, 0, 3], b"cha", &[0, 0, 0, 2], b"dh"].concat(),
        ),
        (
            AuthBody::Reply { response: b"r", dh: b"", challenge: b"ch" },
            AuthCode::REPLY,
            [&[0, 0, 0, 1][..], b"r", &[0; 4], &[0, 0, 0, 2], b"ch"].concat(),
        ),
        (AuthBody::Success { response: b"" }, AuthCode::SUCCESS, vec![0; 4]),
    ];
    for (body, code, bytes) in cases {
        let message = body.message(0x0102_0304).unwrap();
        let len = u8::try_from(bytes.len()).unwrap();
        assert_eq!(message[..12], [0x90, 0, code.0, 1, 0, 0, 0, len, 1, 2, 3, 4], "{body:?}");
        assert_eq!(message[12..], bytes, "{body:?}");
        let read = AuthMessage::parse(&message).unwrap();
        assert_eq!((read.header.code, AuthBody::parse(code, read.body)), (code, Ok(body)));
        assert_eq!(AuthMessage::parse(&[&message[..], &[0]].concat()), Err(Error::Malformed("els", "length")));
        for len in 0..bytes.len() {
            assert!(AuthBody::parse(code, &bytes[..len]).is_err(), "{len} bytes of {body:?}");
        }
        assert_eq!(AuthBody::parse(code, &[&bytes[..], &[0]].concat()), Err(Error::Malformed("els", "length")));
    }
    assert_eq!(AuthBody::parse(AuthCode(0x13), &[]), Err(Error::Malformed("els", "message")));

    // Names of another kind; lists twice, or only one; another protocol before; lengths beyond the end.
    let negotiate = |bytes: &[&[u8]]| match AuthBody::parse(AuthCode::NEGOTIATE, &bytes.concat())? {
        AuthBody::Negotiate { name, dh_chap } => Ok::<_, Error>((name, dh_chap.is_some())),
        body => panic!("{body:?}"),
    };
    let (of_hashes, of_groups) = ([0, 1, 0, 1, 0, 0, 0, 6], [0, 2, 0, 1, 0, 0, 0, 0]);
    let one = |len: u8| [0, 0, 0, 1, 0, 0, 0, len, 0, 0, 0, 1];
    assert_eq!(negotiate(&[&of_name, &one(20), &of_groups, &of_hashes]), Ok((name, true)), "in any order");
    let other = [0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 20, 0, 0, 0, 1];
    assert_eq!(negotiate(&[&of_name, &other, &of_hashes, &of_groups]), Ok((name, true)), "behind another");
    assert_eq!(negotiate(&[&of_name, &[0; 4]]), Ok((name, false)));
    for bad in [
        negotiate(&[&[0, 2, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0], &[0; 4]]),
        negotiate(&[&of_name, &one(20), &of_hashes, &of_hashes]),
        negotiate(&[&of_name, &one(12), &of_hashes]),
        negotiate(&[&of_name, &one(4)]),
        negotiate(&[&of_name, &[0xff; 4]]),
        negotiate(&[&of_name, &one(20), &of_hashes, &[0, 2, 0xff, 0xff, 0, 0, 0, 0]]),
    ] {
        assert!(bad.is_err(), "{bad:?}");
    }
    assert_eq!(AuthBody::parse(AuthCode::REPLY, &[0xff; 12]), Err(Error::Truncated("els")));
}
