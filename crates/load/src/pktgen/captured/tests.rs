use super::*;
use etherparse::{PacketBuilder, PacketHeaders};
use linerate_port::capture::{Record, Writer};

fn frames() -> Vec<Vec<u8>> {
    let mut list = Vec::new();
    let ip4 = || PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 20);
    let mut frame = Vec::new();
    ip4().udp(1, 2).write(&mut frame, b"payload").unwrap();
    list.push(std::mem::take(&mut frame));
    ip4().tcp(1, 2, 3, 4).write(&mut frame, b"odd").unwrap();
    list.push(std::mem::take(&mut frame));
    let ip6 = PacketBuilder::ethernet2([1; 6], [2; 6]).single_vlan(5.try_into().unwrap()).ipv6([1; 16], [2; 16], 20);
    ip6.udp(5, 6).write(&mut frame, b"tagged, IPv6").unwrap();
    list.push(frame);
    list
}

#[test]
fn checksums_are_made_right_and_nothing_else_is_touched() {
    for whole in frames() {
        let mut frame = whole.clone();
        let end = PacketHeaders::from_ethernet_slice(&whole).unwrap().payload.slice().as_ptr() as usize;
        let end = end - whole.as_ptr() as usize;
        // UDP's checksum is 2 bytes before its payload, TCP's 4.
        let udp = PacketHeaders::from_ethernet_slice(&whole).unwrap().transport.unwrap().udp().is_some();
        let at = end - if udp { 2 } else { 4 };
        frame[at] ^= 0x55;
        if frame[12..14] == [8, 0] {
            frame[24] ^= 0x11;
        }
        update_checksums(&mut frame);
        assert_eq!(frame, whole);
    }
    let mut arp = vec![0xff; 60];
    arp[12..14].copy_from_slice(&[8, 6]);
    let before = arp.clone();
    update_checksums(&mut arp);
    assert_eq!(arp, before);
    for n in 0..60 {
        update_checksums(&mut frames()[0].clone()[..n.min(frames()[0].len())]);
    }
}

fn capture(times: &[u64]) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.pcap");
    let mut writer = Writer::create(&path).unwrap();
    for (k, time) in times.iter().enumerate() {
        let data = &[u8::try_from(k).unwrap(); 60];
        writer.write(&Record { time_ns: *time, orig_len: 60, data }).unwrap();
    }
    writer.flush().unwrap();
    drop(writer);
    (dir, path)
}

fn leave(replay: &mut Replay, now: u64) -> Vec<u8> {
    let mut list = Vec::new();
    while replay.peek(now).is_some() {
        list.push(replay.take()[0]);
    }
    list
}

#[test]
fn frames_leave_at_their_times_as_often_as_asked() {
    let (_dir, path) = capture(&[5_000, 6_000, 8_000]);
    let config = |loops, speed| ReplayConfig { path: path.clone(), interface: None, loops, speed };
    let mut replay = Replay::open(&config(2, 2.0), false).unwrap();
    assert_eq!(leave(&mut replay, 100_000), [0]);
    assert_eq!(replay.due(), Some(100_500), "twice as fast");
    assert!(leave(&mut replay, 100_499).is_empty());
    assert_eq!(leave(&mut replay, 100_500), [1]);
    assert_eq!(leave(&mut replay, 101_500), [2, 0], "the second pass begins when the first is through");
    assert_eq!(leave(&mut replay, 200_000), [1, 2]);
    assert!(replay.ended() && replay.broken.is_none());

    let mut replay = Replay::open(&config(3, 0.0), false).unwrap();
    assert_eq!(leave(&mut replay, 1), [0, 1, 2, 0, 1, 2, 0, 1, 2], "as fast as it goes");
    assert!(replay.ended());
}

#[test]
fn a_capture_without_frames_ends_and_one_that_is_none_is_refused() {
    let (_dir, path) = capture(&[]);
    let mut replay =
        Replay::open(&ReplayConfig { path: path.clone(), interface: None, loops: 0, speed: 0.0 }, false).unwrap();
    assert!(leave(&mut replay, 1).is_empty());
    assert!(replay.ended());
    assert!(first_frame(&path).unwrap_err().to_string().contains("no frame"));
    std::fs::write(&path, b"not a capture at all, but long enough for one").unwrap();
    for error in [
        first_frame(&path).unwrap_err(),
        Replay::open(&ReplayConfig { path, interface: None, loops: 1, speed: 1.0 }, false).err().unwrap(),
    ] {
        let line = error.to_string();
        assert!(line.contains("c.pcap") && !line.contains('\n'), "{line}");
    }
}

/// Of all datagrams that differ in one word one has a sum of zero, which would mean no checksum: it is sent as all ones
/// (RFC 768). TCP's is sent unchanged.
#[test]
fn a_udp_checksum_of_zero_is_made_ones_and_a_tcp_one_is_not() {
    for (mut frame, at) in frames().into_iter().zip([40, 50, 64]) {
        let payload = frame.len() - if at == 50 { 3 } else { 12.min(frame.len() - at - 2) };
        let udp = at != 50;
        let mut zeros = [0; 2];
        for word in 0..=u16::MAX {
            frame[payload..payload + 2].copy_from_slice(&word.to_be_bytes());
            update_checksums(&mut frame);
            zeros[0] += usize::from(frame[at..at + 2] == [0, 0]);
            zeros[1] += usize::from(frame[at..at + 2] == [0xff, 0xff]);
        }
        assert_eq!(zeros[0], usize::from(!udp), "{at}");
        assert!(!udp || zeros[1] >= 1, "{at}");
    }
}
