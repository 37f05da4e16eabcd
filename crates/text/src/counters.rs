//! Counters from one line each: [`counters!`](crate::counters) makes a structure of counts that add up,
//! [`reasons!`](crate::reasons) an enumeration of reasons with their names and a count for each.

/// What adds up: counts, and all that is made of counts.
pub trait Sum {
    /// Adds another count. Some come from other processes and may be large: at the greatest it stays.
    fn sum(&mut self, other: &Self);
}

impl Sum for u64 {
    #[inline]
    fn sum(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }
}

impl<T: Sum, const N: usize> Sum for [T; N] {
    #[inline]
    fn sum(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(mine, theirs)| mine.sum(theirs));
    }
}

/// Defines a structure whose fields all add up: its `+=` adds each field. It is `Copy`, zero by default, and can be compared.
#[macro_export]
macro_rules! counters {
    ($(#[$about:meta])* $vis:vis struct $name:ident {
        $($(#[$field_about:meta])* $field_vis:vis $field:ident: $kind:ty),* $(,)?
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$field_about])* $field_vis $field: $kind,)*
        }

        impl $crate::Sum for $name {
            fn sum(&mut self, other: &Self) {
                $($crate::Sum::sum(&mut self.$field, &other.$field);)*
            }
        }

        impl ::core::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $crate::Sum::sum(self, &other);
            }
        }
    };
}

/// Defines an enumeration of reasons, each with the name that reports have for it, and a structure with a count for each.
///
/// ```
/// linerate_text::reasons! {
///     /// Reason that a letter was not delivered.
///     pub enum Reason {
///         /// Nobody lives there.
///         Moved = "moved",
///         /// It is too heavy.
///         Heavy = "heavy",
///     }
///     /// Letters not delivered, by reason.
///     pub struct Undelivered;
/// }
/// let mut letters = Undelivered::default();
/// letters.add(Reason::Heavy, 2);
/// assert_eq!((letters.of(Reason::Heavy), letters.total()), (2, 2));
/// assert_eq!(letters.iter().collect::<Vec<_>>(), [("heavy", 2)]);
/// ```
#[macro_export]
macro_rules! reasons {
    ($(#[$about:meta])* $vis:vis enum $name:ident {
        $($(#[$reason_about:meta])* $reason:ident = $text:literal),* $(,)?
    }
    $(#[$counts_about:meta])* $counts_vis:vis struct $counts:ident;) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(usize)]
        $vis enum $name {
            $($(#[$reason_about])* $reason,)*
        }

        #[allow(dead_code, reason = "not each enumeration has a use for all of these")]
        impl $name {
            /// All reasons, in order.
            $vis const ALL: [Self; [$($text),*].len()] = [$(Self::$reason),*];

            /// Name of the reason in reports.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                [$($text),*][self as usize]
            }
        }

        $(#[$counts_about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $counts_vis struct $counts([u64; $name::ALL.len()]);

        #[allow(dead_code, reason = "not each enumeration has a use for all of these")]
        impl $counts {
            /// Counts `n` more of a reason.
            #[inline]
            $counts_vis fn add(&mut self, reason: $name, n: u64) {
                $crate::Sum::sum(&mut self.0[reason as usize], &n);
            }

            /// Count of a reason.
            #[inline]
            #[must_use]
            $counts_vis const fn of(&self, reason: $name) -> u64 {
                self.0[reason as usize]
            }

            /// Count of all reasons.
            #[must_use]
            $counts_vis fn total(&self) -> u64 {
                self.0.iter().fold(0, |all, n| all.saturating_add(*n))
            }

            /// Reasons that occurred, by name, with their counts.
            $counts_vis fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
                $name::ALL.iter().map(|reason| (reason.name(), self.of(*reason))).filter(|(_, n)| *n > 0)
            }
        }

        impl $crate::Sum for $counts {
            fn sum(&mut self, other: &Self) {
                $crate::Sum::sum(&mut self.0, &other.0);
            }
        }

        impl ::core::ops::AddAssign for $counts {
            fn add_assign(&mut self, other: Self) {
                $crate::Sum::sum(self, &other);
            }
        }
    };
}

#[cfg(test)]
mod tests {
    reasons! {
        pub(crate) enum Reason {
            One = "one",
            Two = "two",
        }
        pub(crate) struct Reasons;
    }

    counters! {
        pub(crate) struct Counted {
            frames: u64,
            dropped: Reasons,
            classes: [u64; 2],
        }
    }

    #[test]
    fn a_sum_has_every_counter_of_both_and_stays_at_the_greatest() {
        let mut one = Counted { frames: 3, classes: [1, u64::MAX], ..Counted::default() };
        one.dropped.add(Reason::Two, 5);
        let mut sum = Counted::default();
        sum += one;
        assert_eq!(sum, one);
        sum += one;
        assert_eq!((sum.frames, sum.classes), (6, [2, u64::MAX]));
        assert_eq!(sum.dropped.iter().collect::<Vec<_>>(), [("two", 10)]);
        sum.dropped.add(Reason::One, u64::MAX);
        assert_eq!((sum.dropped.of(Reason::One), sum.dropped.total()), (u64::MAX, u64::MAX));
    }

    #[test]
    fn every_reason_stands_at_its_place() {
        let names: Vec<_> = Reason::ALL.iter().map(|reason| (*reason as usize, reason.name())).collect();
        assert_eq!(names, [(0, "one"), (1, "two")]);
    }
}
