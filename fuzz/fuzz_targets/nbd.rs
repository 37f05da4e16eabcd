//! NBD in both directions: the first octet says which; the rest is what the peer says. Whatever that is, it is refused or
//! understood, what is understood is written again as it was, and nothing grows without bound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_block::Geometry;
use linerate_rt::block::nbd::wire::{Go, Greeting, Info, OptionHeader, OptionReply, Reply, Request};
use linerate_rt::block::nbd::{Export, NbdUri, Offer, Verdict, negotiate};
use std::io::{self, Read, Write};

/// A server that says this, whatever it is told.
struct Says<'a>(&'a [u8]);

impl Read for Says<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to)
    }
}

impl Write for Says<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        Ok(octets.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn exports() -> [Export; 2] {
    let geometry = Geometry {
        block_size: 512,
        blocks: 2048,
        physical_exponent: 3,
        read_only: false,
        volatile: true,
        discards: true,
        discard_zeroes: true,
        protection: false,
        product: "ram",
        serial: 1,
    };
    ["a", "b"].map(|name| Export { name: name.into(), description: "disk".into(), geometry: geometry.clone() })
}

/// A client says this to a server, in pieces.
fn to_server(octets: &[u8], piece: usize) {
    let (exports, mut out, mut from) = (exports(), Vec::new(), 0);
    let mut offer = Offer::new(&mut out);
    for end in (0..octets.len()).step_by(piece).chain([octets.len()]) {
        loop {
            let (used, verdict) = offer.handle(&octets[from..end.max(from)], &exports, &mut out);
            from += used;
            assert!(from <= octets.len() && out.len() < 1 << 20);
            match verdict {
                Verdict::More if used > 0 => {}
                Verdict::More => break,
                Verdict::Begin(place) => {
                    assert!(place < exports.len());
                    for request in octets[from..].chunks_exact(Request::LEN) {
                        if let Ok(request) = Request::parse(request.try_into().unwrap()) {
                            assert_eq!(Request::parse(&request.emit()), Ok(request));
                        }
                    }
                    return;
                }
                Verdict::End => return,
            }
        }
    }
}

/// Single messages: what is read is written again as it was.
fn messages(octets: &[u8]) {
    if let Some(head) = octets.first_chunk()
        && let Ok(greeting) = Greeting::parse(head)
    {
        assert_eq!(greeting.emit(), *head);
    }
    if let Some(head) = octets.first_chunk()
        && let Ok(option) = OptionHeader::parse(head)
    {
        assert_eq!(option.emit(), *head);
    }
    if let Some(head) = octets.first_chunk()
        && let Ok(reply) = OptionReply::parse(head)
    {
        assert_eq!(reply.emit(), *head);
    }
    if let Ok(go) = Go::parse(octets) {
        assert_eq!(go.emit(), octets);
    }
    match Info::parse(octets) {
        Ok(info @ (Info::Export(_) | Info::BlockSize(_))) => assert_eq!(info.emit(), octets),
        Ok(Info::Other(_)) | Err(_) => {}
    }
    let mut rest = octets;
    while let Ok(Some((reply, taken))) = Reply::parse(rest) {
        let mut head = [0; Reply::CHUNK_LEN];
        assert_eq!(reply.emit(&mut head), taken);
        assert_eq!(head[..taken], rest[..taken]);
        rest = &rest[taken..];
    }
}

fuzz_target!(|octets: &[u8]| {
    let [which, octets @ ..] = octets else { return };
    match which % 4 {
        0 => to_server(octets, 1 + usize::from(which / 4)),
        1 => drop(negotiate(&mut Says(octets), "a")),
        2 => messages(octets),
        _ => {
            if let Ok(text) = std::str::from_utf8(octets)
                && let Err(error) = NbdUri::parse(text)
            {
                let line = error.to_string();
                assert!(line.contains("; ") && !line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
});
