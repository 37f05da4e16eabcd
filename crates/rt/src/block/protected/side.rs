//! The header of a side file: the data file and the type that its protection information belongs to.
//!
//! ```text
//!   0   "LRNTEPI1"
//!   8   type of protection information (1, 2 or 3), 32 bits      12   bytes of a block, 32 bits
//!   16  number of blocks, 64 bits                                24   inode number of the data file, 64 bits
//!   32  zeros up to 4096
//! ```
//! Numbers are little-endian. The information of block n lies at 4096 + 8 n.

use crate::block::DeviceError;
use linerate_block::Geometry;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Bytes of the header.
pub(super) const HEADER: u64 = 4096;
const MAGIC: [u8; 8] = *b"LRNTEPI1";
/// Bytes of the header that mean something.
const USED: usize = 32;

/// Data file and type that a side file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: u32,
    pub(super) block_size: u32,
    pub(super) blocks: u64,
    pub(super) inode: u64,
}

/// Way to open a side file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It must be there and fit.
    Fits,
    /// It is made if it is not there.
    Makes,
    /// It is made, or else becomes that of this data file.
    Adopts,
}

impl Header {
    /// That of a data file.
    pub(super) fn of(data: &Path, geometry: &Geometry, kind: u8) -> io::Result<Self> {
        let inode = std::fs::metadata(data)?.ino();
        Ok(Self { kind: kind.into(), block_size: geometry.block_size, blocks: geometry.blocks, inode })
    }

    fn bytes(&self) -> [u8; USED] {
        let mut bytes = [0; USED];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.kind.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.block_size.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.blocks.to_le_bytes());
        bytes[24..].copy_from_slice(&self.inode.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8; USED]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        if bytes[..8] != MAGIC {
            return None;
        }
        Some(Self { kind: word(8)?, block_size: word(12)?, blocks: number(16)?, inode: number(24)? })
    }

    /// Bytes of the whole file.
    fn size(&self) -> u64 {
        HEADER.saturating_add(self.blocks.saturating_mul(8))
    }

    /// Checks that the side file at `path` is this one, or makes it so; true if it was made.
    pub(super) fn ensure(&self, path: &Path, mode: Mode) -> Result<bool, DeviceError> {
        let oops = |what: &dyn std::fmt::Display, mend: &str| DeviceError::new(path.display(), what, mend);
        let cannot = |e: io::Error| oops(&e, "let it be read and its directory be written, or leave out 'pi='");
        // Opening a FIFO would wait for its writer.
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(oops(&"it is no regular file", "move it away, and a new one is made"));
        }
        let file = match OpenOptions::new().read(true).write(mode == Mode::Adopts).open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound && mode == Mode::Fits => {
                return Err(oops(&"it is not there: nothing is protected yet", "open it once without ',ro'"));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => return self.make(path).map(|()| true).map_err(cannot),
            Err(e) => return Err(cannot(e)),
        };
        let found = read(&file).map_err(cannot)?;
        let Some(found) = found else {
            return Err(oops(&"it has no header of protection information", "move it away, and a new one is made"));
        };
        let long = file.metadata().map_err(cannot)?.len() >= found.size();
        if (found.kind, found.block_size) != (self.kind, self.block_size) {
            let what = format!("it is of type {} and blocks of {} bytes", found.kind, found.block_size);
            let mend = format!("give pi={},block={}, or move it away", found.kind, found.block_size);
            return Err(oops(&what, &mend));
        }
        if found == *self && long {
            return Ok(false);
        }
        if mode == Mode::Adopts {
            return self.adopt(&file).map(|()| false).map_err(cannot);
        }
        let mend = "move it away, or take it all the same with ',pi-adopt'";
        Err(match (found.inode == self.inode, found.blocks == self.blocks) {
            (false, _) => oops(&"it was made for another file than this one", mend),
            (_, false) => oops(&format!("it is for {} blocks, and the file has {}", found.blocks, self.blocks), mend),
            _ => oops(&"its end is missing", mend),
        })
    }

    /// Makes a side file in which no block is protected. It has its name only when it is whole.
    fn make(&self, path: &Path) -> io::Result<()> {
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        // One that a start before has left; a link in its place must not be followed.
        let _ = std::fs::remove_file(&new);
        let whole = || {
            let mut file = OpenOptions::new().create_new(true).write(true).open(&new)?;
            file.write_all(&self.bytes())?;
            file.set_len(self.size())?;
            file.sync_all()?;
            std::fs::rename(&new, path)
        };
        whole().inspect_err(|_| _ = std::fs::remove_file(&new))
    }

    /// Makes a side file that of this data file; blocks that it does not have are not protected.
    fn adopt(&self, file: &File) -> io::Result<()> {
        file.set_len(self.size())?;
        file.write_all_at(&self.bytes(), 0)?;
        file.sync_all()
    }
}

/// The header of a side file; None if it has none.
fn read(file: &File) -> io::Result<Option<Header>> {
    let mut bytes = [0; USED];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => Ok(Header::parse(&bytes)),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Header = Header { kind: 1, block_size: 512, blocks: 128, inode: 77 };

    #[test]
    fn what_does_not_fit_is_refused_and_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk.pi");
        let line = |header: &Header, mode| header.ensure(&path, mode).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(line(&KNOWN, Mode::Fits).contains("not there") && !path.exists(), "a check makes nothing");
        assert!(KNOWN.ensure(&path, Mode::Makes).unwrap() && !KNOWN.ensure(&path, Mode::Makes).unwrap());
        assert!(!dir.path().join("disk.pi.new").exists());
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(whole.len(), 4096 + 8 * 128);
        for (header, word) in [
            (Header { kind: 3, ..KNOWN }, "type 1"),
            (Header { block_size: 4096, ..KNOWN }, "blocks of 512"),
            (Header { blocks: 129, ..KNOWN }, "128 blocks, and the file has 129"),
            (Header { inode: 78, ..KNOWN }, "another file"),
        ] {
            for mode in [Mode::Fits, Mode::Makes] {
                let line = line(&header, mode);
                assert!(line.contains(word) && line.contains("; "), "{line}");
            }
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
        assert!(line(&Header { kind: 3, ..KNOWN }, Mode::Adopts).contains("type 1"), "that cannot be mended");
        std::fs::write(&path, &whole[..5000]).unwrap();
        assert!(line(&KNOWN, Mode::Makes).contains("end is missing"));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 5000);
        let grown = Header { blocks: 129, inode: 78, ..KNOWN };
        assert!(!grown.ensure(&path, Mode::Adopts).unwrap() && !grown.ensure(&path, Mode::Fits).unwrap());
        let fifo = dir.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for odd in [fifo.as_path(), dir.path()] {
            let line = KNOWN.ensure(odd, Mode::Makes).err().unwrap().to_string();
            assert!(line.contains("no regular file"), "{line}");
        }
        let (victim, link) = (dir.path().join("victim"), dir.path().join("linked.new"));
        std::fs::write(&victim, "kept").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(KNOWN.ensure(&dir.path().join("linked"), Mode::Makes).unwrap());
        assert_eq!(std::fs::read(&victim).unwrap(), b"kept", "no link is followed");
        for other in [&b"short"[..], &[7; 5000]] {
            std::fs::write(&path, other).unwrap();
            assert!(line(&KNOWN, Mode::Adopts).contains("no header"));
            assert_eq!(std::fs::read(&path).unwrap(), other);
        }
    }
}
