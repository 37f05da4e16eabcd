//! TLVs with a type of 7 bits and a length of 9, as LLDP and CEE's DCBX have them, and what they are made of.

use crate::Error;
use crate::field::{Field, u16_at};

/// A TLV at the front of bytes.
pub(crate) struct Tlv<'a> {
    pub(crate) kind: u8,
    pub(crate) info: &'a [u8],
    /// The rest that follows.
    pub(crate) rest: &'a [u8],
}

impl<'a> Tlv<'a> {
    /// None if the bytes end before the TLV does.
    pub(crate) fn split(bytes: &'a [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(2)?;
        let (info, rest) = rest.split_at_checked(usize::from(u16_at(header, 0) & 0x1ff))?;
        Some(Self { kind: header[0] >> 1, info, rest })
    }
}

/// Writes a TLV behind what there is.
pub(crate) fn put_tlv(out: &mut Vec<u8>, kind: u8, info: &[u8]) -> Result<(), Error> {
    let len = u16::try_from(info.len()).ok().filter(|len| *len <= 0x1ff).ok_or(Error::TooLarge("lldp", "TLV"))?;
    out.extend((u16::from(kind) << 9 | len).to_be_bytes());
    out.extend(info);
    Ok(())
}

/// The field of so many bytes that is all of `info`.
pub(crate) fn whole<T: Field<Value = T>>(info: &[u8], len: usize, name: &'static str) -> Result<T, Error> {
    if info.len() == len { Ok(T::get(info, 0)) } else { Err(Error::Malformed(name, "length")) }
}

/// The fields of so many bytes each that `info` is made of.
pub(crate) fn table<T: Field<Value = T>>(info: &[u8], len: usize, name: &'static str) -> Result<Vec<T>, Error> {
    if !info.len().is_multiple_of(len) {
        return Err(Error::Malformed(name, "table"));
    }
    Ok(info.chunks_exact(len).map(|entry| T::get(entry, 0)).collect())
}
