//! iperf 2's messages: the first byte says which; the rest is what the peer says. Whatever that is, it is refused or understood;
//! what is understood is written again as it was read, and no number has a value that it cannot have.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_load::iperf::protocol::{Burst, Datagram, Receipt, Report, Request, Spread, Stamp};

/// A header over TCP.
fn header(bytes: &[u8]) {
    let Some(first) = bytes.first_chunk() else { return assert!(Request::read(bytes).is_err()) };
    match Request::length(*first) {
        Ok(Some(length)) => assert!((24..=Request::LONGEST).contains(&length)),
        Ok(None) | Err(_) => assert!(Request::read(bytes).is_err()),
    }
    let Ok(request) = Request::read(bytes) else { return };
    // What is not said again: old headers have no second half, and who has one wants an answer, or does not.
    if request.version.is_some() && request.rate < 1 << 56 {
        let again = Request::read(&request.header()).unwrap();
        let same = Request { wants_ack: again.wants_ack, wide_numbers: false, version: again.version, ..request };
        assert_eq!(again, same);
    }
}

/// The request in a datagram.
fn request(bytes: &[u8]) {
    let Ok(request) = Request::read_datagram(bytes) else { return };
    let mut again = [b'0'; Request::IN_TIMED_DATAGRAM];
    request.write_datagram(&mut again);
    let read = Request::read_datagram(&again).unwrap();
    assert_eq!(read, Request { wide_numbers: true, version: read.version, ..request });
}

fn datagrams(bytes: &[u8], wide: bool) {
    let (mut receipt, mut spread) = (Receipt::default(), Spread::default());
    for datagram in bytes.chunks(Datagram::LEN) {
        let Some(read) = Datagram::read(wide, datagram) else { continue };
        let mut again = [0; Datagram::LEN];
        read.write(&mut again);
        assert_eq!(Datagram::read(true, &again), Some(read));
        let (number, seconds) = (read.number.unsigned_abs(), read.sent.micros() as f64 / 1e6);
        if read.number > 0 {
            receipt.arrived(number, seconds, number % 3 == 0);
            spread.add(seconds);
        } else {
            receipt.ended(number);
        }
        assert!(receipt.lost <= receipt.highest && receipt.jitter.is_finite() && receipt.jitter >= 0.0);
    }
    assert!(spread.deviation().is_finite() && spread.least <= spread.most);
    // A report of that comes back, as far as its numbers have room for it.
    let report = Report::of(&receipt, bytes.len() as u64, 1.5, wide.then_some(spread));
    let again = Report::read(&report.bytes()).unwrap();
    assert_eq!((again.datagrams, again.lost, again.bytes), (report.datagrams, report.lost, report.bytes));
}

fn report(bytes: &[u8]) {
    let Some(report) = Report::read(bytes) else { return };
    assert!(report.seconds.is_finite() && report.jitter.is_finite());
    let again = Report::read(&report.bytes()).unwrap();
    assert_eq!((again.datagrams, again.lost, again.out_of_order), (report.datagrams, report.lost, report.out_of_order));
}

fn bursts(bytes: &[u8]) {
    for bytes in bytes.chunks_exact(Burst::LEN) {
        let Some(burst) = bytes.first_chunk().and_then(Burst::read) else { continue };
        assert!(burst.size as usize >= Burst::LEN);
        let mut again = [0; Burst::LEN];
        burst.write(&mut again, Stamp::default(), 0);
        assert_eq!(Burst::read(&again), Some(burst));
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&first, bytes)) = input.split_first() else { return };
    match first & 7 {
        0 | 1 => header(bytes),
        2 | 3 => request(bytes),
        4 => datagrams(bytes, false),
        5 => datagrams(bytes, true),
        6 => report(bytes),
        _ => bursts(bytes),
    }
});
