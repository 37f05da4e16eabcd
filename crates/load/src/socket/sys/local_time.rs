//! Calendar time where the machine is.

use std::ffi::{CStr, CString};

/// A time of the calendar, with the name of its zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocalTime {
    pub(crate) year: i32,
    pub(crate) month: i32,
    pub(crate) day: i32,
    pub(crate) hour: i32,
    pub(crate) minute: i32,
    pub(crate) second: i32,
    pub(crate) zone: String,
}

/// Calendar time of so many seconds since 1970.
pub(crate) fn local_time(seconds: u64) -> LocalTime {
    let seconds = libc::time_t::try_from(seconds).unwrap_or(0);
    // SAFETY: all zeros is a valid tm, whose zone has no name.
    let mut tm: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: a time to be read and a tm to be written, both of which live until the call returns.
    if unsafe { libc::localtime_r(&raw const seconds, &raw mut tm) }.is_null() || tm.tm_zone.is_null() {
        return LocalTime::default();
    }
    // SAFETY: the zone's name is a text that ends with a zero and lives as long as the process: glibc keeps all names.
    let zone = unsafe { CStr::from_ptr(tm.tm_zone) }.to_string_lossy().into_owned();
    LocalTime {
        year: tm.tm_year + 1900,
        month: tm.tm_mon + 1,
        day: tm.tm_mday,
        hour: tm.tm_hour,
        minute: tm.tm_min,
        second: tm.tm_sec,
        zone,
    }
}

/// The same in a format of strftime(3), of 256 bytes at most.
pub(crate) fn formatted_time(seconds: u64, format: &str) -> String {
    let seconds = libc::time_t::try_from(seconds).unwrap_or(0);
    // A space, so that a format of nothing, for which 0 is returned too, is told from one that is too long.
    let Ok(format) = CString::new(format!("{format} ")) else { return String::new() };
    let mut text = [0u8; 257];
    // SAFETY: all zeros is a valid tm.
    let mut tm: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: a time to be read and a tm to be written, both of which live until the call returns.
    if unsafe { libc::localtime_r(&raw const seconds, &raw mut tm) }.is_null() {
        return String::new();
    }
    // SAFETY: the text has the length that is said, the format ends with a zero, and both and the tm live until the call returns.
    let len = unsafe { libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), &raw const tm) };
    String::from_utf8_lossy(&text[..len.saturating_sub(1)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_filled_in() {
        assert_eq!(formatted_time(1_700_049_600, "%Y at: "), "2023 at: ");
        assert_eq!(formatted_time(1_700_049_600, ""), "");
        assert_eq!(formatted_time(1_700_049_600, &"%c".repeat(40)), "", "it is too long");
    }

    #[test]
    fn a_time_is_within_a_day_of_utc() {
        let noon = local_time(1_700_049_600);
        assert_eq!((noon.year, noon.month), (2023, 11));
        assert!((14..=16).contains(&noon.day) && !noon.zone.is_empty(), "{noon:?}");
    }
}
