//! netperf's control messages: the first byte says which end hears them; the rest is the message. Whatever it is, it is
//! refused or understood; what is understood is written again as it was understood.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_load::netperf::protocol::{Code, Message, omni, stream};

fn to_server(message: &Message) {
    if let Ok(request) = omni::Request::read(message) {
        assert!(request.congestion.len() <= 16 && request.fill.len() <= 32);
        // A text that fills its field has no zero behind it: what is written has one, and is shorter.
        let again = omni::Request::read(&request.message()).unwrap();
        assert!(request.congestion.starts_with(&again.congestion) && request.fill.starts_with(&again.fill));
        let whole = omni::Request { congestion: request.congestion.clone(), fill: request.fill.clone(), ..again };
        assert_eq!(whole, request);
    }
    if let Ok(request) = stream::Request::read(message) {
        assert_eq!(stream::Request::read(&request.message()), Ok(request));
    }
}

fn to_client(message: &Message) {
    if let Ok(response) = omni::Response::read(message) {
        assert_eq!(omni::Response::read(&response.message()), Ok(response));
    }
    if let Ok(results) = omni::Results::read(message) {
        assert!(results.seconds.is_finite() && results.peak.is_finite());
        assert!(results.cpu.is_none_or(|all| all.iter().all(|n| n.is_finite())));
        let again = omni::Results::read(&results.message()).unwrap();
        assert_eq!(
            (again.received, again.sent, again.retransmits),
            (results.received, results.sent, results.retransmits)
        );
    }
    if let Ok(response) = stream::Response::read(message) {
        assert_eq!(stream::Response::read(&response.message()), Ok(response));
    }
    if let Ok(results) = stream::Results::read(message) {
        assert!(results.received >= 0.0 && results.received.is_finite() && results.seconds.is_finite());
        assert_eq!(stream::Results::read(&results.message()).unwrap().received, results.received);
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&first, bytes)) = input.split_first() else { return };
    let mut whole = [0; Message::LEN];
    let len = bytes.len().min(Message::LEN);
    whole[..len].copy_from_slice(&bytes[..len]);
    // Half of them have a kind that means something.
    let kinds = [
        Code::OMNI,
        Code::STREAM,
        Code::OMNI_RESPONSE,
        Code::STREAM_RESPONSE,
        Code::OMNI_RESULTS,
        Code::STREAM_RESULTS,
    ];
    if let Some(kind) = kinds.get(usize::from(first >> 1)) {
        whole[..4].copy_from_slice(&kind.0.to_be_bytes());
    }
    let message = Message::received(whole);
    assert_eq!(message.bytes(), &whole);
    if first & 1 == 0 { to_server(&message) } else { to_client(&message) }
});
