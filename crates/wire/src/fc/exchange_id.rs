//! The two identifiers of an exchange.

/// The number that stands in a header where no identifier has been assigned (FC-FS-3, clause 12, OX_ID and RX_ID). It
/// is never the identifier of an exchange.
const UNASSIGNED: u16 = 0xffff;

macro_rules! identifiers {
    ($($(#[$doc:meta])* $name:ident, $unassigned:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u16);

        impl $name {
            #[doc = $unassigned]
            pub const UNASSIGNED: Self = Self(UNASSIGNED);

            /// True if it identifies an exchange.
            #[must_use]
            pub const fn is_assigned(self) -> bool {
                self.0 != UNASSIGNED
            }
        }

        crate::field::newtype!($name(u16));
    )*};
}

identifiers! {
    /// An Originator Exchange_ID: the identifier that the originator of an exchange assigns to it (FC-FS-3, clause 12, OX_ID).
    OxId, "No identifier: an originator that keeps none. Ours assign one always.";
    /// A Responder Exchange_ID: the identifier that the responder of an exchange assigns to it (FC-FS-3, clause 12, RX_ID).
    RxId, "No identifier: the responder has assigned none yet, or the sender does not know it.";
}
