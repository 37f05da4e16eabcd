use super::facts::Sizes;
use super::*;

#[test]
fn bytes_are_those_of_the_protocol() {
    let greeting = Greeting { flags: 3 }.emit();
    assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
    assert_eq!(Greeting::parse(&greeting), Ok(Greeting { flags: 3 }));
    let mut old = greeting;
    old[8..16].copy_from_slice(&0x0000_4202_8186_1253u64.to_be_bytes());
    assert_eq!(Greeting::parse(&old), Err(WireError::OldStyle));
    let request = Request { flags: 1, kind: command::WRITE, cookie: 7, offset: 0x1000, len: 512 };
    let bytes = request.emit();
    assert_eq!(bytes[..8], [0x25, 0x60, 0x95, 0x13, 0, 1, 0, 1]);
    assert_eq!(bytes[8..], [0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 2, 0]);
    assert_eq!(Request::parse(&bytes), Ok(request));
    let option = OptionHeader { option: option::GO, len: 6 };
    assert_eq!(OptionHeader::parse(&option.emit()), Ok(option));
    let reply = OptionReply { option: option::GO, kind: reply::ERR_UNKNOWN, len: 0 };
    assert_eq!(reply.emit()[..8], [0, 3, 0xe8, 0x89, 4, 0x55, 0x65, 0xa9]);
    assert_eq!(OptionReply::parse(&reply.emit()), Ok(reply));
}

#[test]
fn replies_are_told_apart_and_wait_for_their_end() {
    let simple = Reply::Simple { error: error::EIO, cookie: 9 };
    let chunk = Reply::Chunk { flags: chunk::FLAG_DONE, kind: chunk::OFFSET_DATA, cookie: 10, len: 520 };
    for reply in [simple, chunk] {
        let mut bytes = [0; Reply::CHUNK_LEN];
        let len = reply.emit(&mut bytes);
        assert_eq!(Reply::parse(&bytes[..len]), Ok(Some((reply, len))));
        for n in 0..len {
            assert_eq!(Reply::parse(&bytes[..n]), Ok(None), "{n} bytes");
        }
        bytes[0] ^= 1;
        assert_eq!(Reply::parse(&bytes), Err(WireError::Magic));
    }
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let go = Go { name: "disk".into(), wanted: vec![info::BLOCK_SIZE] };
    let data = go.emit();
    assert_eq!(Go::parse(&data), Ok(go));
    for n in 0..data.len() {
        assert_eq!(Go::parse(&data[..n]), Err(WireError::Length), "{n} bytes");
    }
    assert_eq!(Go::parse(&[&data[..], &[0, 0]].concat()), Err(WireError::Length), "one too many");
    let long = Go { name: "x".repeat(LONGEST_NAME + 1), wanted: Vec::new() };
    assert_eq!(Go::parse(&long.emit()), Err(WireError::Length));
    let reply = OptionReply { option: option::GO, kind: reply::INFO, len: LONGEST_OPTION + 1 };
    assert_eq!(OptionReply::parse(&reply.emit()), Err(WireError::Length));
    let sizes = Sizes { least: 512, preferred: 4096, most: 1 << 20 };
    let data = Info::BlockSize(sizes).emit();
    assert_eq!(Info::parse(&data), Ok(Info::BlockSize(sizes)));
    assert_eq!(Info::parse(&data[..13]), Err(WireError::Length));
    let wrong = Info::BlockSize(Sizes { least: 0, ..sizes }).emit();
    assert_eq!(Info::parse(&wrong), Err(WireError::Length), "no size at all");
}
