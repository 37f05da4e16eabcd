//! Traffic classes: queues of a port that are served in the order of the priorities they carry.

use linerate_wire::Priority;

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

#[cfg(test)]
mod tests {
    use super::*;

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
