//! Checksums: the Internet checksum, alone and fused with a copy.
