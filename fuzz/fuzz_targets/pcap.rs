//! Capture files: read twice, which must give the same.
#![no_main]

use linerate_port::capture::{LONGEST, Reader};
use std::io::Cursor;

fn read(reader: &mut Reader<Cursor<&[u8]>>) -> Option<Vec<(u64, u32, usize)>> {
    let mut records = Vec::new();
    loop {
        match reader.read() {
            Ok(Some(record)) => {
                assert!((14..=LONGEST).contains(&record.data.len()));
                assert!(record.orig_len as usize >= record.data.len());
                records.push((record.time_ns, record.orig_len, record.data.len()));
            }
            Ok(None) => return Some(records),
            Err(_) => return None,
        }
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut reader = Reader::new("fuzz", Cursor::new(bytes));
    let first = read(&mut reader);
    let counts = reader.counts();
    if let Some(first) = &first {
        assert_eq!(counts.records, first.len() as u64);
        // A record has a header in the file.
        assert!(first.len() <= bytes.len() / 12);
    }
    if reader.rewind().is_ok() {
        assert_eq!(read(&mut reader), first);
    }
});
