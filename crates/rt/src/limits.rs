//! Limits of the process.

use std::io;

/// Raises the number of descriptors that this process may have to the most that it may take by itself; returns that
/// number. A usual default is 1024, of which a switch takes eleven for each port of another process; the low default is for
/// programs that wait with `select`, which nothing here does.
///
/// # Errors
/// Errors of the kernel; then the limit is what it was.
pub fn raise_descriptors() -> io::Result<u64> {
    crate::sys::limits::raise_descriptors()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_limit_is_at_its_most_and_stays_there() {
        let most = super::raise_descriptors().unwrap();
        assert!(most >= 64);
        assert_eq!(super::raise_descriptors().unwrap(), most);
        let text = std::fs::read_to_string("/proc/self/limits").unwrap();
        let line = text.lines().find(|line| line.starts_with("Max open files")).unwrap();
        let now: Vec<&str> = line["Max open files".len()..].split_whitespace().collect();
        assert_eq!(now[0], now[1], "{line}");
    }
}
