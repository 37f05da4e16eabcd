//! Segments as bytes: what is longer than a segment is cut, as an adapter does it.

use linerate_stack::tcp::Outgoing;
use linerate_wire::{TcpFlags, TcpSegment};

/// The segments of one that was handed out, without ports and checksums.
pub(crate) fn cut(outgoing: &Outgoing<'_>) -> Vec<Vec<u8>> {
    let data = outgoing.payload.concat();
    let mss = outgoing.mss as usize;
    let count = data.len().div_ceil(mss).max(1);
    let mut options = [0; 40];
    let options = {
        let len = outgoing.options.emit(&mut options).unwrap();
        options[..len].to_vec()
    };
    (0..count)
        .map(|i| {
            let piece = &data[i * mss..data.len().min((i + 1) * mss)];
            let mut bytes = vec![0; 20];
            bytes.extend(&options);
            bytes.extend(piece);
            let last = i + 1 == count;
            let ends = TcpFlags::FIN.union(TcpFlags::PSH);
            let flags = if last { outgoing.flags } else { TcpFlags(outgoing.flags.0 & !ends.0) };
            bytes[12] = 0x50;
            let mut segment = TcpSegment::new_checked(&mut bytes[..]).unwrap();
            segment.set_header_len(u8::try_from(20 + options.len()).unwrap());
            segment.set_seq(outgoing.seq.plus(u32::try_from(i * mss).unwrap()).0);
            segment.set_ack(outgoing.ack.0);
            segment.set_flags(flags);
            segment.set_window(outgoing.window);
            bytes
        })
        .collect()
}
