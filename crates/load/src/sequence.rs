//! Numbers of datagrams that anybody may have sent: those that belong to a sequence, those that do not, and the account of both.

/// Greatest gap that a datagram may leave by itself (`MAX_DROPOUT`).
const DROPOUT: u64 = 3000;
/// Numbers up to the highest of which it is known whether they have come.
const REMEMBERED: u64 = 1 << 16;
/// Number of times that the end of a sequence may be beyond all that came of it.
const BEYOND: u64 = 16;

/// Judge of numbers (RFC 3550, appendix A.1): one far beyond all before is set aside until the next one is near it. So a
/// single datagram of somebody else is no loss of all between, and a true gap is one, however long.
#[derive(Debug)]
pub(crate) struct Sequence<T> {
    aside: Option<(u64, T)>,
    end: Option<u64>,
    outside: u64,
}

impl<T> Default for Sequence<T> {
    fn default() -> Self {
        Self { aside: None, end: None, outside: 0 }
    }
}

impl<T> Sequence<T> {
    /// Takes in a datagram with this number, where `highest` is the greatest that belongs; those that belong now.
    #[inline]
    pub(crate) fn take(&mut self, highest: u64, number: u64, datagram: T) -> impl Iterator<Item = T> + use<T> {
        let (mut before, mut this) = (None, Some(datagram));
        if number > highest.saturating_add(DROPOUT) {
            match self.aside.take() {
                Some((aside, datagram)) if (1..=DROPOUT).contains(&number.abs_diff(aside)) => before = Some(datagram),
                other => {
                    self.outside += u64::from(other.is_some());
                    self.aside = this.take().map(|datagram| (number, datagram));
                }
            }
        }
        before.into_iter().chain(this)
    }

    /// True if the sequence ends here: the number is one that it may have reached, or is said again.
    pub(crate) fn ends(&mut self, highest: u64, number: u64) -> bool {
        let may = number <= highest.saturating_mul(BEYOND).saturating_add(DROPOUT);
        let again = self.end.is_some_and(|end| number.abs_diff(end) <= DROPOUT);
        if may || again {
            // What was set aside first was the end.
            self.outside -= u64::from(again);
            return true;
        }
        self.outside += 1;
        self.end = Some(number);
        false
    }

    /// Datagram that was set aside, if it belongs to a sequence with this end.
    pub(crate) fn last(&mut self, end: Option<u64>) -> Option<T> {
        let (number, datagram) = self.aside.take()?;
        let belongs = end.is_some_and(|end| number < end);
        self.outside += u64::from(!belongs);
        belongs.then_some(datagram)
    }

    /// Number of datagrams that do not belong.
    pub(crate) fn outside(&self) -> u64 {
        self.outside
    }
}

/// Numbers that have come of late: a datagram that comes twice takes no other one's place.
#[derive(Debug)]
pub(crate) struct Seen {
    /// A bit for each of the last numbers up to the highest.
    bits: Vec<u64>,
    highest: u64,
    copies: u64,
}

impl Default for Seen {
    fn default() -> Self {
        Self { bits: vec![0; (REMEMBERED / 64) as usize], highest: 0, copies: 0 }
    }
}

impl Seen {
    /// Notes a number; true if it has come before. Of those that are older than what is remembered nobody knows.
    #[inline]
    pub(crate) fn again(&mut self, number: u64) -> bool {
        if number > self.highest {
            if number - self.highest > REMEMBERED {
                self.bits.fill(0);
            } else {
                (self.highest + 1..number).for_each(|passed| {
                    let (word, bit) = place(passed);
                    self.bits[word] &= !bit;
                });
            }
            self.highest = number;
        } else if self.highest - number >= REMEMBERED {
            return false;
        } else {
            let (word, bit) = place(number);
            if self.bits[word] & bit != 0 {
                self.copies += 1;
                return true;
            }
        }
        let (word, bit) = place(number);
        self.bits[word] |= bit;
        false
    }

    /// Number of datagrams that had come before.
    pub(crate) fn copies(&self) -> u64 {
        self.copies
    }
}

#[inline]
fn place(number: u64) -> (usize, u64) {
    let at = number % REMEMBERED;
    (usize::try_from(at / 64).unwrap_or(0), 1 << (at % 64))
}

/// Account of the datagrams of a sequence that have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Receipt {
    /// Highest number so far, which is how many were sent.
    pub highest: u64,
    /// Numbers that were passed over and have not come since.
    pub lost: u64,
    /// Datagrams that came behind a higher number.
    pub out_of_order: u64,
    /// Smoothed difference of transit times, seconds (RFC 1889, section 6.3.1).
    pub jitter: f64,
    /// Transit time of the last one, seconds; unknown at first.
    transit: Option<f64>,
}

impl Receipt {
    /// Takes in a datagram that was so many seconds under way; `copy` of one that had come before.
    #[inline]
    pub fn arrived(&mut self, number: u64, transit: f64, copy: bool) {
        if number > self.highest {
            self.ended(number);
            self.highest = number;
        } else {
            // It was counted as lost before, unless it is a copy.
            self.out_of_order += 1;
            self.lost = self.lost.saturating_sub(u64::from(!copy));
        }
        // Clocks that differ are in both times.
        if let Some(last) = self.transit.replace(transit) {
            self.jitter += ((transit - last).abs() - self.jitter) / 16.0;
        }
    }

    /// Takes the end in: the datagram with this number says that all before were sent.
    #[inline]
    pub fn ended(&mut self, number: u64) {
        let sent = number.saturating_sub(1).max(self.highest);
        self.lost = self.lost.saturating_add(sent - self.highest);
        self.highest = sent;
    }

    /// Begins the jitter anew.
    pub fn calm(&mut self) {
        (self.jitter, self.transit) = (0.0, None);
    }
}

/// Words about so many datagrams that came again, if there are some.
pub(crate) fn doubled(copies: u64) -> Option<String> {
    let (many, were) = if copies == 1 { ("datagram", "was") } else { ("datagrams", "were") };
    (copies > 0).then(|| {
        format!("{copies} {many} came twice and {were} counted as out of order, and not in the place of a lost one")
    })
}

/// Words about so many datagrams that do not belong, if there are some.
pub(crate) fn told(outside: u64) -> Option<String> {
    match outside {
        0 => None,
        1 => Some("1 datagram outside the sequence is not counted".to_owned()),
        many => Some(format!("{many} datagrams outside the sequence are not counted")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(numbers: &[u64], end: Option<u64>) -> (Vec<u64>, u64) {
        let (mut sequence, mut all) = (Sequence::default(), Vec::new());
        for number in numbers {
            let highest = all.iter().max().copied().unwrap_or(0);
            all.extend(sequence.take(highest, *number, *number));
        }
        all.extend(sequence.last(end));
        (all, sequence.outside())
    }

    #[test]
    fn a_number_far_beyond_belongs_if_the_next_one_is_near_it() {
        let far = 1 << 31;
        assert_eq!(taken(&[1, 2, far, 3, 4], None), (vec![1, 2, 3, 4], 1));
        assert_eq!(taken(&[1, far, u64::MAX, far * 2, 2], Some(3)), (vec![1, 2], 3));
        // A gap.
        assert_eq!(taken(&[1, 2, 9000, 9001, 9003], None), (vec![1, 2, 9000, 9001, 9003], 0));
        assert_eq!(taken(&[1, 9001, 9000, 3], None), (vec![1, 9001, 9000, 3], 0));
        // A gap with one behind it, which the end tells.
        assert_eq!(taken(&[1, 2, 9000], Some(9001)), (vec![1, 2, 9000], 0));
        assert_eq!(taken(&[1, 2, 9000], Some(8000)), (vec![1, 2], 1));
        // A copy says nothing new.
        assert_eq!(taken(&[1, far, far, 2], None), (vec![1, 2], 2));
    }

    #[test]
    fn a_number_that_comes_again_is_known_as_long_as_it_is_remembered() {
        let mut seen = Seen::default();
        let far = 10 * REMEMBERED;
        for (number, again) in [
            (1, false),
            (3, false),
            (3, true),
            (2, false),
            (2, true),
            (1, true),
            (REMEMBERED + 1, false),
            // Its place is that of 1, which is forgotten.
            (REMEMBERED + 1, true),
            (1, false),
            (2, true),
            (far, false),
            (far - 1, false),
            (far - 1, true),
            (3, false),
        ] {
            assert_eq!(seen.again(number), again, "{number}");
        }
        assert_eq!(seen.copies(), 6);
    }

    #[test]
    fn losses_disorder_and_copies_are_told_apart() {
        let mut receipt = Receipt::default();
        for (number, copy, highest, lost, disorder) in [
            (1, false, 1, 0, 0),
            (4, false, 4, 2, 0),
            (2, false, 4, 1, 1),
            (2, true, 4, 1, 2),
            (7, false, 7, 3, 2),
            (u64::MAX, false, u64::MAX, u64::MAX - 5, 2),
            (0, false, u64::MAX, u64::MAX - 6, 3),
        ] {
            receipt.arrived(number, 0.001, copy);
            assert_eq!((receipt.highest, receipt.lost, receipt.out_of_order), (highest, lost, disorder), "{number}");
        }
        let mut receipt = Receipt { highest: 7, lost: 2, ..Receipt::default() };
        for (end, highest, lost) in [(10, 9, 4), (0, 9, 4), (9, 9, 4), (11, 10, 5)] {
            receipt.ended(end);
            assert_eq!((receipt.highest, receipt.lost), (highest, lost), "{end}");
        }
    }

    #[test]
    fn jitter_is_a_sixteenth_of_the_difference_whatever_the_clocks_say() {
        for clock in [-5.0, 0.0, 1e3] {
            let mut receipt = Receipt::default();
            let mut arrives = |seconds| {
                receipt.arrived(1, clock + seconds, false);
                receipt.jitter
            };
            assert!(arrives(0.001).abs() < 1e-12 && arrives(0.001).abs() < 1e-12, "all took as long");
            assert!((arrives(0.017) - 0.001).abs() < 1e-9, "a sixteenth of 16 ms");
            receipt.calm();
            receipt.arrived(2, 9.0, false);
            assert!(receipt.jitter.abs() < 1e-12, "it begins anew");
        }
    }

    #[test]
    fn an_end_far_beyond_is_one_if_it_is_said_again() {
        let mut sequence = Sequence::<()>::default();
        assert!(sequence.ends(0, 1) && sequence.ends(1000, 16_000));
        assert!(!sequence.ends(1000, 1 << 31));
        assert!(sequence.ends(1000, 1001) && sequence.outside() == 1);
        let mut sequence = Sequence::<()>::default();
        assert!(!sequence.ends(10, 1_000_000) && sequence.ends(10, 1_000_001) && sequence.outside() == 0);
    }
}
