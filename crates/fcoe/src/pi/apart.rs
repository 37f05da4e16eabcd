//! Protection information in a buffer of its own, as hosts keep it (DIX), and its way to and from the wire.

use super::{Guard, Protection, ProtectionChecks, ProtectionError, ProtectionTuple};

impl Protection {
    /// Compares blocks with protection information in a separate buffer.
    ///
    /// # Errors
    ///
    /// [`ProtectionError`]: the first mismatch.
    pub fn verify_apart(
        &self,
        data: &[u8],
        tuples: &[u8],
        reference: u32,
        checks: &ProtectionChecks,
    ) -> Result<(), ProtectionError> {
        let pairs = data.chunks_exact(self.block).zip(tuples.chunks_exact(ProtectionTuple::LEN));
        self.verify_all(pairs, reference, checks)
    }

    /// Writes the protection information of blocks to a separate buffer.
    pub fn generate(&self, data: &[u8], application: u16, reference: u32, tuples: &mut [u8]) {
        let pairs = data.chunks_exact(self.block).zip(tuples.chunks_exact_mut(ProtectionTuple::LEN));
        for (index, (block, tuple)) in (0..).zip(pairs) {
            tuple.copy_from_slice(&self.tuple(block, application, reference, index).bytes());
        }
    }

    /// Copies blocks to `to` with their protection information, from its separate buffer, behind each; its guards become
    /// those of `guard`.
    ///
    /// # Errors
    ///
    /// [`ProtectionError::Guard`] when a block does not match the guard that is replaced: a new one would hide that.
    pub fn join(&self, data: &[u8], tuples: &[u8], guard: Guard, to: &mut [u8]) -> Result<(), ProtectionError> {
        let pairs = data.chunks_exact(self.block).zip(tuples.chunks_exact(ProtectionTuple::LEN));
        for (index, (to, (block, tuple))) in (0..).zip(to.chunks_exact_mut(self.stride()).zip(pairs)) {
            let (place, behind) = to.split_at_mut(self.block);
            place.copy_from_slice(block);
            behind.copy_from_slice(tuple);
            self.convert(place, behind, guard).ok_or(ProtectionError::Guard(index))?;
        }
        Ok(())
    }

    /// Copies blocks and the protection information behind each to separate buffers; its guards become those of `guard`.
    ///
    /// # Errors
    ///
    /// [`ProtectionError::Guard`], as [`Protection::join`].
    pub fn split(
        &self,
        blocks: &[u8],
        guard: Guard,
        data: &mut [u8],
        tuples: &mut [u8],
    ) -> Result<(), ProtectionError> {
        let pairs = data.chunks_exact_mut(self.block).zip(tuples.chunks_exact_mut(ProtectionTuple::LEN));
        for (index, (from, (block, tuple))) in (0..).zip(blocks.chunks_exact(self.stride()).zip(pairs)) {
            let (place, behind) = from.split_at(self.block);
            block.copy_from_slice(place);
            tuple.copy_from_slice(behind);
            self.convert(place, tuple, guard).ok_or(ProtectionError::Guard(index))?;
        }
        Ok(())
    }

    /// Replaces the guard of a block's protection information, as an adapter does between host and wire. None when the
    /// block does not match it.
    fn convert(&self, block: &[u8], tuple: &mut [u8], to: Guard) -> Option<()> {
        let old = ProtectionTuple::read(tuple);
        if to != self.guard && !self.is_unchecked(old) {
            (old.guard == self.guard.of(block)).then_some(())?;
            tuple[..2].copy_from_slice(&to.of(block).to_be_bytes());
        }
        Some(())
    }
}
