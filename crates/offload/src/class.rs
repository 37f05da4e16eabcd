//! Traffic classes: queues of a port that are served in the order of the priorities they carry, and the table that says which
//! class a priority has and when each is served.

use linerate_wire::Priority;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Traffic class of a port with 1 to 8 classes: 0 is served last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TrafficClass(u8);

impl TrafficClass {
    /// Most classes of a port.
    pub const MOST: usize = 8;

    /// Class of a priority's frames where there are so many classes (none are one, more than 8 are 8): the recommended
    /// mapping of IEEE 802.1Q-2022, table 8-5. Priority 1, "background", is below 0, "best effort".
    #[inline]
    #[must_use]
    pub const fn of(priority: Priority, classes: usize) -> Self {
        const TABLE: [[u8; Priority::COUNT]; TrafficClass::MOST] = [
            [0, 0, 0, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 1, 1, 1, 1],
            [0, 0, 0, 0, 1, 1, 2, 2],
            [0, 0, 1, 1, 2, 2, 3, 3],
            [0, 0, 1, 1, 2, 2, 3, 4],
            [1, 0, 2, 2, 3, 3, 4, 5],
            [1, 0, 2, 3, 4, 4, 5, 6],
            [1, 0, 2, 3, 4, 5, 6, 7],
        ];
        let row = match classes {
            0 => 0,
            1..=Self::MOST => classes - 1,
            _ => Self::MOST - 1,
        };
        Self(TABLE[row][priority.index()])
    }

    /// Its place among the port's classes.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Transmission selection of a traffic class, where there is not enough of the link for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Selection {
    /// Before classes that are not strict, and strict ones of lower numbers (IEEE 802.1Q-2022, clause 8.6.8.1).
    Strict,
    /// A share by this weight of what strict classes leave; with ETS it is the percent (clause 37).
    Share(u32),
    /// Nothing is promised: it has what the others leave, as a class of ETS with 0 percent.
    Rest,
}

impl Selection {
    /// Heaviest weight.
    pub const MAX_WEIGHT: u32 = 1000;

    /// Place in the order of service, the higher the sooner, of a class of this number; those of one place have shares.
    #[must_use]
    pub const fn level(self, class: usize) -> usize {
        match self {
            Self::Rest => 0,
            Self::Share(_) => 1,
            Self::Strict => 2 + class,
        }
    }
}

/// A port's 1 to 8 traffic classes: the class of each priority, the classes' selection, and which priorities are lossless.
///
/// ```
/// use linerate_offload::ClassTable;
///
/// // Priorities 0 to 3 get a quarter of what 6 and 7 leave, 4 and 5 the rest of it.
/// let table: ClassTable = "1,3,strict".parse()?;
/// assert_eq!(table.to_string(), "1,3,strict");
/// # Ok::<(), linerate_offload::ClassTableError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassTable {
    of: [TrafficClass; Priority::COUNT],
    selection: [Selection; TrafficClass::MOST],
    count: usize,
    lossless: u8,
}

/// Error of a text that does not give 1 to 8 classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("give 1 to 8 weights of 1 to {}, strict or rest, with commas between, as 1,3", Selection::MAX_WEIGHT)]
pub struct ClassTableError;

impl ClassTable {
    /// Table of the recommended mapping ([`TrafficClass::of`]), the first selection for class 0, no priority lossless; None unless
    /// there are 1 to 8, with weights of 1 to [`Selection::MAX_WEIGHT`].
    #[must_use]
    pub fn recommended(selection: &[Selection]) -> Option<Self> {
        let of = Priority::ALL.map(|priority| TrafficClass::of(priority, selection.len()));
        Self::checked(of, selection, 0)
    }

    /// Table of eight classes: the class of each priority, each class's selection, a bit for each lossless priority; None if a
    /// class is above 7, or a weight not 1 to [`Selection::MAX_WEIGHT`].
    #[must_use]
    pub fn new(of: [u8; Priority::COUNT], selection: [Selection; TrafficClass::MOST], lossless: u8) -> Option<Self> {
        Self::checked(of.map(TrafficClass), &selection, lossless)
    }

    fn checked(of: [TrafficClass; Priority::COUNT], given: &[Selection], lossless: u8) -> Option<Self> {
        let count = given.len();
        let weights = given
            .iter()
            .all(|one| !matches!(one, Selection::Share(weight) if !(1..=Selection::MAX_WEIGHT).contains(weight)));
        let fine = (1..=TrafficClass::MOST).contains(&count) && of.iter().all(|class| class.index() < count) && weights;
        let mut selection = [Selection::Strict; TrafficClass::MOST];
        selection.get_mut(..count)?.copy_from_slice(given);
        fine.then_some(Self { of, selection, count, lossless })
    }

    /// Class of a priority.
    #[inline]
    #[must_use]
    pub const fn class(&self, priority: Priority) -> TrafficClass {
        self.of[priority.index()]
    }

    /// Selection of each class.
    #[must_use]
    pub fn selection(&self) -> &[Selection] {
        &self.selection[..self.count]
    }

    /// True if frames of this class are not to be lost: one of its priorities is lossless.
    #[must_use]
    pub fn lossless(&self, class: TrafficClass) -> bool {
        Priority::ALL.into_iter().any(|priority| self.class(priority) == class && self.lossless & priority.bit() != 0)
    }
}

impl Default for ClassTable {
    /// One class.
    fn default() -> Self {
        let selection = [Selection::Share(1); TrafficClass::MOST];
        Self { of: [TrafficClass(0); Priority::COUNT], selection, count: 1, lossless: 0 }
    }
}

impl fmt::Display for ClassTable {
    /// Selection of each class, with commas between.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (class, selection) in self.selection().iter().enumerate() {
            f.write_str(if class > 0 { "," } else { "" })?;
            match selection {
                Selection::Strict => f.write_str("strict")?,
                Selection::Share(weight) => weight.fmt(f)?,
                Selection::Rest => f.write_str("rest")?,
            }
        }
        Ok(())
    }
}

impl FromStr for ClassTable {
    type Err = ClassTableError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let one = |word: &str| match word {
            "strict" => Some(Selection::Strict),
            "rest" => Some(Selection::Rest),
            weight => weight.parse().ok().map(Selection::Share),
        };
        let selection: Option<Vec<_>> = text.split(',').map(one).collect();
        selection.and_then(|selection| Self::recommended(&selection)).ok_or(ClassTableError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_as_they_are_written_and_within_their_limits() {
        for text in ["1", "1000", "1,2,3,4,5,6,7,8", "strict", "rest,3,strict"] {
            assert_eq!(text.parse::<ClassTable>().unwrap().to_string(), text);
        }
        for text in ["", "0", "1001", "1,", "1,,2", "1,2,3,4,5,6,7,8,9", "1;2", "-1", "1, 2", "Strict"] {
            assert_eq!(text.parse::<ClassTable>(), Err(ClassTableError), "{text}");
        }
        assert_eq!(ClassTable::default().selection(), "1".parse::<ClassTable>().unwrap().selection());
    }

    /// IEEE 802.1Q-2022, table 8-5.
    #[test]
    fn priorities_stand_in_as_many_classes_as_there_are() {
        let of = |text: &str| {
            let table: ClassTable = text.parse().unwrap();
            Priority::ALL.map(|priority| table.class(priority).index())
        };
        assert_eq!(of("5"), [0; 8]);
        assert_eq!(of("1,9"), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(of("1,strict,rest,1,1,1,1,1"), [1, 0, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_table_of_eight_has_its_own_mapping_and_lossless_classes() {
        let selection = [60, 40, 1, 1, 1, 1, 1, 1].map(Selection::Share);
        let table = ClassTable::new([0, 0, 0, 1, 1, 0, 7, 0], selection, 1 << 3).unwrap();
        assert_eq!([3, 4, 6, 7].map(|n| table.class(Priority::ALL[n]).index()), [1, 1, 7, 0]);
        let lossless = Priority::ALL.map(|priority| table.lossless(table.class(priority)));
        assert_eq!(lossless, [false, false, false, true, true, false, false, false], "4 is in the class of 3");
        assert!(ClassTable::new([8, 0, 0, 0, 0, 0, 0, 0], selection, 0).is_none());
        assert!(ClassTable::new([0; 8], [Selection::Share(0); 8], 0).is_none());
    }

    #[test]
    fn more_urgent_priorities_are_never_served_after_others() {
        for classes in 1..=8 {
            let served = [1, 0, 2, 3, 4, 5, 6, 7].map(|n| TrafficClass::of(Priority::ALL[n], classes));
            assert!(served.is_sorted(), "{classes} classes: {served:?}");
            assert_eq!(served[7].index(), classes - 1);
        }
        assert_eq!(TrafficClass::of(Priority::ALL[3], 4).index(), 1);
        assert_eq!([0, 9].map(|classes| TrafficClass::of(Priority::ALL[0], classes).index()), [0, 1]);
    }
}
