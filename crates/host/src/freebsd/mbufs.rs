//! `netstat -m`: buffers of the network, and requests for them that were denied.

use super::lines;

/// Numbers of `netstat -m`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mbufs {
    /// Clusters, in use and kept, and the most that there may be; none if no line tells them.
    pub clusters: Option<(u64, u64)>,
    /// Requests for jumbo clusters of 4, 9 and 16 KiB that were denied.
    pub jumbo: [u64; 3],
    /// Requests that were denied: for buffers, for clusters, and for both in one.
    pub denied: [u64; 3],
}

impl Mbufs {
    /// Parses the text; lines of other buffers are left out.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut all = Self::default();
        for (numbers, words) in lines(text).filter_map(|line| line.split_once(' ')) {
            let numbers: Vec<u64> = numbers.split('/').filter_map(|number| number.parse().ok()).collect();
            match numbers[..] {
                [_, _, total, most] if words.starts_with("mbuf clusters in use") => all.clusters = Some((total, most)),
                [a, b, c] if words.starts_with("requests for mbufs denied") => all.denied = [a, b, c],
                [a, b, c] if words.starts_with("requests for jumbo clusters denied") => all.jumbo = [a, b, c],
                _ => {}
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_and_denials_are_read_whatever_is_cut() {
        let text = "66011/30349/96360 mbufs in use (current/cache/total)\n\
                    65536/0/65536/65537 mbuf clusters in use (current/cache/total/max)\n\
                    0/508/508/1018159 4k (page size) jumbo clusters in use (current/cache/total/max)\n\
                    0/7/7 requests for mbufs denied (mbufs/clusters/mbuf+clusters)\n0/0/0 requests for mbufs delayed\n";
        assert_eq!(
            Mbufs::parse(text),
            Mbufs { clusters: Some((65_536, 65_537)), denied: [0, 7, 7], ..Mbufs::default() }
        );
        for end in 0..text.len() {
            assert!(Mbufs::parse(&text[..end]).denied.iter().all(|denied| *denied <= 7));
        }
    }
}
