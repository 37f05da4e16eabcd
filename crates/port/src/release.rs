//! Release of the running kernel, for features that cannot be probed.

/// True if the kernel is of this release or a later one; false if the release is unknown.
pub(crate) fn is_at_least(wanted: [u32; 2]) -> bool {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").is_ok_and(|release| at_least(&release, wanted))
}

fn at_least(release: &str, wanted: [u32; 2]) -> bool {
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
    let (major, minor) = (parts.next().flatten(), parts.next().flatten());
    major.zip(minor).is_some_and(|(major, minor)| [major, minor] >= wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        for (release, is) in [("6.2.0", true), ("6.18.44-fc", true), ("10.0", true), ("6.1.99", false), ("5.15", false)]
        {
            assert_eq!(at_least(release, [6, 2]), is, "{release}");
        }
        assert!(!at_least("", [6, 2]) && !at_least("new", [6, 2]));
    }
}
