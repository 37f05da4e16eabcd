//! Acknowledged and flushed data survives a SIGKILL: the writer is this test binary, started once more.

use super::file::{file, open};
use super::model::{Dice, read, wait};
use linerate_block::{Backend, Buffer, Operation, Tag};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const BLOCKS: u64 = 256;
const PATH: &str = "LINERATE_TEST_CRASH_FILE";
const ROUNDS: u64 = 12;

/// Writes blocks that contain their address and their round, and reports each one on stable storage, until it is
/// killed.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let mut backend = open(Path::new(&path), 512, true);
    let mut out = std::io::stdout().lock();
    let mut dice = Dice(0x5eed);
    for turn in 1u64.. {
        let fua = turn.is_multiple_of(2);
        let first = dice.below(BLOCKS - 8);
        for i in 0..8 {
            let mut buffer = Buffer::new(512);
            for chunk in buffer.bytes_mut().chunks_exact_mut(16) {
                chunk[..8].copy_from_slice(&(first + i).to_le_bytes());
                chunk[8..].copy_from_slice(&turn.to_le_bytes());
            }
            backend.submit(Tag(u32::try_from(i).unwrap()), Operation::Write { lba: first + i, buffer, fua });
        }
        (0..8).for_each(|_| assert_eq!(wait(&mut backend).result, Ok(())));
        if !fua {
            backend.submit(Tag(8), Operation::Flush);
            assert_eq!(wait(&mut backend).result, Ok(()));
        }
        writeln!(out, "\nstable {first} {turn}").unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn what_was_flushed_outlives_a_sigkill() {
    let file = file(BLOCKS * 512);
    let mut dice = Dice(99);
    for round in 0..ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::writer", "--nocapture", "--test-threads=1"])
            .env(PATH, file.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut stable = HashMap::new();
        let mut take = |line: &str| {
            let mut words = line.split(' ');
            if words.next() == Some("stable")
                && let (Some(first), Some(turn)) = (words.next(), words.next())
                && let (Ok(first), Ok(turn)) = (first.parse::<u64>(), turn.parse::<u64>())
            {
                stable.extend((first..first + 8).map(|lba| (lba, turn)));
                return true;
            }
            false
        };
        let mut left = 5 + dice.below(40);
        while left > 0 {
            left -= u64::from(take(&lines.next().expect("the writer goes on until it is killed").unwrap()));
        }
        child.kill().unwrap();
        // Reports that it sent before it was killed count as well.
        lines.map_while(Result::ok).for_each(|line| _ = take(&line));
        child.wait().unwrap();
        let mut backend = open(file.path(), 512, true);
        let bytes = read(&mut backend, 0, usize::try_from(BLOCKS).unwrap() * 512);
        for (lba, turn) in &stable {
            let at = usize::try_from(*lba).unwrap() * 512;
            for chunk in bytes[at..at + 512].chunks_exact(16) {
                let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
                assert_eq!(number(&chunk[..8]), *lba, "round {round}");
                assert!(number(&chunk[8..]) >= *turn, "round {round}: block {lba} is of an earlier turn than {turn}");
            }
        }
        assert!(!stable.is_empty());
        // Each round starts its numbers anew.
        let zeros = Operation::WriteZeroes { lba: 0, blocks: BLOCKS, discard: false, fua: true };
        assert_eq!(super::model::one(&mut backend, zeros).result, Ok(()));
    }
}
