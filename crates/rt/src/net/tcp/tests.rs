use super::*;
use crate::net::Options;

/// Both ends of a connection over a cable.
fn connection(name: &str) -> ([Net; 2], [TcpStream; 2]) {
    let ports = ["{1", "}1"].map(|end| format!("cable:tcp-{name}{end}"));
    let addresses = ["10.0.0.1/24", "10.0.0.2/24"].map(|cidr| cidr.parse().unwrap());
    let [left, right] = Net::open_pair([&ports[0], &ports[1]], addresses, &Options::default()).unwrap();
    let listener = right.tcp_listen("10.0.0.2:7".parse().unwrap()).unwrap();
    let near = left.tcp_connect("10.0.0.2:7".parse().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    ([left, right], [near, far])
}

/// A write may wait for those behind it only if all of it was taken, Nagle's algorithm is on, and it comes closely.
#[test]
fn only_small_writes_of_nagle_s_wait() {
    let (_nets, [near, _far]) = connection("wait");
    let stream = &near.0;
    let next = |bytes: &[u8], hold| {
        let mut shard = stream.queue().shard();
        let (taken, next) = stream.write_to(&mut shard.ip.host, &[IoSlice::new(bytes)], bytes.len(), hold);
        assert!(taken.is_none_or(|taken| taken.is_ok()));
        next
    };
    assert_eq!(next(&[1; 100], Hold::May), Then::Hold);
    assert_eq!(next(&[1; 100], Hold::Not(200)), Then::Tell);
    near.set_nodelay(true);
    assert_eq!(next(&[1; 100], Hold::May), Then::Tell);
    near.set_nodelay(false);
    assert_eq!(next(&vec![1; 64 << 20], Hold::May), Then::Tell, "there is no room for all of it");
}

/// Small writes that nobody follows arrive, though their user neither reads nor closes: the thread looks for them.
#[test]
fn what_was_held_back_is_sent_soon() {
    let (_nets, [near, mut far]) = connection("soon");
    far.set_read_timeout(Some(Duration::from_secs(60)));
    let (mut writer, mut bytes) = (near, vec![0; 3000]);
    for round in 0..200_u8 {
        // The first of them have the thread look now and then; then they come closely.
        for _ in 0..30 {
            writer.write_all(&[round; 100]).unwrap();
        }
        far.read_exact(&mut bytes).unwrap();
        assert!(bytes.iter().all(|byte| *byte == round));
    }
}
