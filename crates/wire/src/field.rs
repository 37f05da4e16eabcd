//! Fields at fixed places, each declared in one line: [`view!`] makes getters and setters over bytes that stay where they
//! are, [`record!`] a struct that is parsed and written as a whole. The caller has checked that the bytes are there.

/// Form of a field's value on the wire. Numbers are in network order.
pub(crate) trait Field {
    /// Type of the value.
    type Value;
    /// Its bits, in each byte that it takes.
    const MASKS: &'static [u8] = &[];

    fn get(bytes: &[u8], at: usize) -> Self::Value;

    /// Writes the field and nothing else.
    fn put(value: Self::Value, bytes: &mut [u8], at: usize);

    /// True if the field has place for the value; `bytes` has what stands before it.
    fn fits(_value: &Self::Value, _bytes: &[u8]) -> bool {
        true
    }
}

#[inline]
pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array_at(bytes, at))
}

#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}

/// The first N bytes; those that are missing are zeros.
pub(crate) fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut all = [0; N];
    let there = bytes.len().min(N);
    all[..there].copy_from_slice(&bytes[..there]);
    all
}

/// The front of `bytes` that a length field of 8 bits can count, and its length.
pub(crate) fn counted_u8(bytes: &[u8]) -> (&[u8], u8) {
    match u8::try_from(bytes.len()) {
        Ok(len) => (bytes, len),
        Err(_) => (&bytes[..usize::from(u8::MAX)], u8::MAX),
    }
}

/// The front of `bytes` that a length field of 16 bits can count, and its length.
pub(crate) fn counted_u16(bytes: &[u8]) -> (&[u8], u16) {
    match u16::try_from(bytes.len()) {
        Ok(len) => (bytes, len),
        Err(_) => (&bytes[..usize::from(u16::MAX)], u16::MAX),
    }
}

/// A number for a field of 32 bits in which the greatest number stands for all that are not less.
pub(crate) fn at_most_u32(number: u64) -> u32 {
    const GREATEST: u32 = u32::MAX;
    u32::try_from(number).unwrap_or(GREATEST)
}

#[inline]
pub(crate) fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

#[inline]
pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    put(bytes, at, &value.to_be_bytes());
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Field for $number {
            type Value = Self;
            const MASKS: &'static [u8] = &[0xff; size_of::<Self>()];

            #[inline]
            fn get(bytes: &[u8], at: usize) -> Self {
                Self::from_be_bytes(array_at(bytes, at))
            }

            #[inline]
            fn put(value: Self, bytes: &mut [u8], at: usize) {
                put(bytes, at, &value.to_be_bytes());
            }
        }

        impl<const N: usize> Field for [$number; N] {
            type Value = Self;

            #[inline]
            fn get(bytes: &[u8], at: usize) -> Self {
                std::array::from_fn(|i| <$number>::get(bytes, at + i * size_of::<$number>()))
            }

            #[inline]
            fn put(value: Self, bytes: &mut [u8], at: usize) {
                for (i, number) in value.into_iter().enumerate() {
                    <$number>::put(number, bytes, at + i * size_of::<$number>());
                }
            }
        }
    )*};
}

numbers!(u16, i16, u32, u64);

impl Field for u8 {
    type Value = Self;
    const MASKS: &'static [u8] = &[0xff];

    #[inline]
    fn get(bytes: &[u8], at: usize) -> Self {
        bytes[at]
    }

    #[inline]
    fn put(value: Self, bytes: &mut [u8], at: usize) {
        bytes[at] = value;
    }
}

impl<const N: usize> Field for [u8; N] {
    type Value = Self;

    #[inline]
    fn get(bytes: &[u8], at: usize) -> Self {
        array_at(bytes, at)
    }

    #[inline]
    fn put(value: Self, bytes: &mut [u8], at: usize) {
        put(bytes, at, &value);
    }
}

/// A bit of a byte; 0 is the lowest.
pub(crate) struct Bit<const N: u8>;

impl<const N: u8> Field for Bit<N> {
    type Value = bool;
    const MASKS: &'static [u8] = &[1 << N];

    #[inline]
    fn get(bytes: &[u8], at: usize) -> bool {
        bytes[at] & 1 << N != 0
    }

    #[inline]
    fn put(value: bool, bytes: &mut [u8], at: usize) {
        bytes[at] = bytes[at] & !(1 << N) | u8::from(value) << N;
    }
}

/// The bits of a byte from `HIGH` down to `LOW`; those of a value that it has no place for are dropped.
pub(crate) struct Bits<const HIGH: u8, const LOW: u8>;

impl<const HIGH: u8, const LOW: u8> Bits<HIGH, LOW> {
    const MASK: u8 = 0xff >> (7 - HIGH + LOW) << LOW;
}

impl<const HIGH: u8, const LOW: u8> Field for Bits<HIGH, LOW> {
    type Value = u8;
    const MASKS: &'static [u8] = &[Self::MASK];

    #[inline]
    fn get(bytes: &[u8], at: usize) -> u8 {
        (bytes[at] & Self::MASK) >> LOW
    }

    #[inline]
    fn put(value: u8, bytes: &mut [u8], at: usize) {
        bytes[at] = bytes[at] & !Self::MASK | value << LOW & Self::MASK;
    }
}

/// The low 24 bits of a word, without the byte before them, which there must be.
pub(crate) struct U24;

impl Field for U24 {
    type Value = u32;
    const MASKS: &'static [u8] = &[0xff; 3];

    #[inline]
    fn get(bytes: &[u8], at: usize) -> u32 {
        u32_at(bytes, at - 1) & 0xff_ffff
    }

    #[inline]
    fn put(value: u32, bytes: &mut [u8], at: usize) {
        put(bytes, at, &value.to_be_bytes()[1..]);
    }

    fn fits(value: &u32, _bytes: &[u8]) -> bool {
        value >> 24 == 0
    }
}

/// Numbers of four bits for each of the eight priorities; priority 0 has the upper half of the first byte.
pub(crate) struct Nibbles;

impl Field for Nibbles {
    type Value = [u8; 8];

    fn get(bytes: &[u8], at: usize) -> [u8; 8] {
        std::array::from_fn(|i| bytes[at + i / 2] >> (4 - i % 2 * 4) & 0xf)
    }

    fn put(value: [u8; 8], bytes: &mut [u8], at: usize) {
        for (i, pair) in value.chunks_exact(2).enumerate() {
            bytes[at + i] = pair[0] << 4 | pair[1] & 0xf;
        }
    }
}

/// The low bits of a number of 16.
pub(crate) struct Low16<const BITS: u8>;

impl<const BITS: u8> Field for Low16<BITS> {
    type Value = u16;

    #[inline]
    fn get(bytes: &[u8], at: usize) -> u16 {
        u16_at(bytes, at) & 0xffff >> (16 - BITS)
    }

    #[inline]
    fn put(value: u16, bytes: &mut [u8], at: usize) {
        let mask = 0xffff >> (16 - BITS);
        put_u16(bytes, at, u16_at(bytes, at) & !mask | value & mask);
    }
}

/// Makes types around one value fields as that value is.
macro_rules! newtype {
    ($($name:ident($inner:ty)),*) => {$(
        impl $crate::field::Field for $name {
            type Value = Self;

            #[inline]
            fn get(bytes: &[u8], at: usize) -> Self {
                Self(<$inner as $crate::field::Field>::get(bytes, at))
            }

            #[inline]
            fn put(value: Self, bytes: &mut [u8], at: usize) {
                <$inner as $crate::field::Field>::put(value.0, bytes, at);
            }
        }
    )*};
}

macro_rules! addresses {
    ($($address:ty),*) => {$(
        impl Field for $address {
            type Value = Self;

            #[inline]
            fn get(bytes: &[u8], at: usize) -> Self {
                array_at::<{ size_of::<Self>() }>(bytes, at).into()
            }

            #[inline]
            fn put(value: Self, bytes: &mut [u8], at: usize) {
                put(bytes, at, &value.octets());
            }
        }
    )*};
}

addresses!(std::net::Ipv4Addr, std::net::Ipv6Addr);

/// Declares a view of a header: its length, and a line for each field with the first byte, the getter, the setter if it has
/// one, the type, and the getter's documentation. With `=> Repr`, the same fields as a plain struct too; `(START)` are bytes
/// that each such header begins with.
///
/// ```text
/// view! {
///     /// A view of a UDP datagram (RFC 768).
///     UdpDatagram, HEADER_LEN = 8 "Bytes of the header.";
///     0 pub src_port set_src_port: u16 = "The sender's port.";
/// }
/// ```
macro_rules! view {
    (
        $(#[$doc:meta])* $view:ident, $len:ident = $bytes:literal $about:literal;
        => $(#[$repr_doc:meta])* $repr:ident $(($start:expr))?;
        $($fields:tt)*
    ) => {
        $crate::field::view! { $(#[$doc])* $view, $len = $bytes $about; $($fields)* }
        $crate::field::parsed! { $(#[$repr_doc])* $repr $(($start))? of $view, $len; $($fields)* }
    };
    (
        $(#[$doc:meta])* $view:ident, $len:ident = $bytes:literal $about:literal;
        $($(#[$attribute:meta])* $at:literal $vis:vis $get:ident $($set:ident)?: $type:ty = $text:literal;)*
    ) => {
        $(#[$doc])*
        ///
        /// | byte | field | |
        /// |-----:|-------|-|
        $(#[doc = concat!("| ", $at, " | `", stringify!($get: $type), "` | ", $text, " |")])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $view<T> {
            pub(crate) buffer: T,
        }

        impl<T: AsRef<[u8]>> $view<T> {
            #[doc = $about]
            pub const $len: usize = $bytes;

            /// The viewed buffer back.
            pub fn into_inner(self) -> T {
                self.buffer
            }

            $(
                $(#[$attribute])*
                #[doc = $text]
                $vis fn $get(&self) -> $type {
                    <$type as $crate::field::Field>::get(self.buffer.as_ref(), $at)
                }
            )*
        }

        impl<T: AsRef<[u8]> + AsMut<[u8]>> $view<T> {
            $($(
                #[doc = concat!("Sets [`", stringify!($get), "`](Self::", stringify!($get), ") and nothing else.")]
                $vis fn $set(&mut self, value: $type) {
                    <$type as $crate::field::Field>::put(value, self.buffer.as_mut(), $at);
                }
            )?)*
        }
    };
}

/// The fields of a [`view!`] as a plain struct.
macro_rules! parsed {
    (
        $(#[$doc:meta])* $repr:ident $(($start:expr))? of $view:ident, $len:ident;
        $($at:literal pub $get:ident $set:ident: $type:ty = $text:literal;)*
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $repr {
            $(#[doc = $text] pub $get: $type,)*
        }

        impl $repr {
            /// The header that `view` shows.
            pub fn parse<T: AsRef<[u8]>>(view: &$view<T>) -> Self {
                Self { $($get: view.$get(),)* }
            }

            /// Bytes that [`emit`](Self::emit) writes.
            pub const fn buffer_len(&self) -> usize {
                $view::<&[u8]>::$len
            }

            /// Writes the header to the front of `buffer`; returns the rest.
            ///
            /// # Errors
            ///
            /// [`Error::Truncated`] when the header does not fit; nothing is written then.
            pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
                let (header, rest) = buffer.split_at_mut_checked(self.buffer_len()).ok_or(Error::Truncated(NAME))?;
                $($crate::field::put(header, 0, &$start);)?
                let mut view = $view { buffer: header };
                $(view.$set(self.$get);)*
                Ok(rest)
            }
        }
    };
}

/// The rest of a view whose header has one length and is followed by the payload.
macro_rules! payload {
    ($view:ident, $text:literal) => {
        impl<T: AsRef<[u8]>> $view<T> {
            /// Views all of `buffer` as a header and its payload. A checksum is not verified here: an adapter may have done it.
            ///
            /// # Errors
            ///
            /// [`Error::Truncated`] when it is shorter than the header.
            pub fn new_checked(buffer: T) -> Result<Self, Error> {
                if buffer.as_ref().len() < Self::HEADER_LEN {
                    return Err(Error::Truncated(NAME));
                }
                Ok(Self { buffer })
            }
        }

        impl<'a, T: AsRef<[u8]> + ?Sized> $view<&'a T> {
            #[doc = $text]
            pub fn payload(&self) -> &'a [u8] {
                &self.buffer.as_ref()[$view::<&T>::HEADER_LEN..]
            }
        }

        impl<T: AsRef<[u8]> + AsMut<[u8]>> $view<T> {
            /// All bytes after the header, to write.
            pub fn payload_mut(&mut self) -> &mut [u8] {
                &mut self.buffer.as_mut()[Self::HEADER_LEN..]
            }
        }
    };
}

/// Declares a struct that is so many bytes on the wire, which are read and written as a whole, and a line for each field with
/// its first byte, its name, its type, its form if that is another than the type's own ([`Bit`], [`Bits`], [`U24`] …), and its
/// documentation. Bytes that no field takes are zero. After the length come the methods it has: `parse`, with `parse(N)` of N
/// bytes or more, those missing as zeros; `bytes`, with `bytes(START)` beginning with these.
///
/// ```text
/// record! {
///     /// The FCP_XFER_RDY information unit (FCP-4, clause 9.3).
///     FcpTransferReady[12] bytes;
///     0 offset: u32 = "Place where the data begins that is asked for, counted from the command's first byte.";
///     4 len: u32 = "Number of bytes asked for.";
/// }
/// ```
macro_rules! record {
    (
        $(#[$doc:meta])* $name:ident[$len:literal] $($method:ident $(($argument:expr))?)*;
        $($at:literal $field:ident: $type:ty $(as $form:ty)? = $text:literal;)*
    ) => {
        $(#[$doc])*
        ///
        /// | byte | field |
        /// |-----:|-------|
        $(#[doc = concat!("| ", $at, " | `", stringify!($field: $type $(as $form)?), "` |")])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name {
            $(#[doc = $text] pub $field: $type,)*
        }

        impl $name {
            /// Bytes on the wire.
            pub const LEN: usize = $len;

            $($crate::field::method! { $method $($argument)? })*
        }

        impl $crate::field::Field for $name {
            type Value = Self;

            #[inline]
            fn get(bytes: &[u8], at: usize) -> Self {
                Self {
                    $($field: <$crate::field::form!($type $(as $form)?) as $crate::field::Field>::get(bytes, at + $at),)*
                }
            }

            #[inline]
            fn put(value: Self, bytes: &mut [u8], at: usize) {
                $(
                    let field = value.$field;
                    <$crate::field::form!($type $(as $form)?) as $crate::field::Field>::put(field, bytes, at + $at);
                )*
            }
        }
    };
}

/// A method of a [`record!`].
macro_rules! method {
    (parse) => {
        /// Parses the front of `bytes`.
        ///
        /// # Errors
        ///
        /// [`Error::Truncated`] when there are fewer than [`LEN`](Self::LEN).
        pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
            let bytes = bytes.get(..Self::LEN).ok_or(Error::Truncated(NAME))?;
            Ok(<Self as $crate::field::Field>::get(bytes, 0))
        }
    };
    (parse $least:expr) => {
        #[doc = concat!("Parses the first ", $least, " bytes or more; those that are missing count as zeros.")]
        ///
        /// # Errors
        ///
        /// [`Error::Truncated`] when there are fewer.
        pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
            if bytes.len() < $least {
                return Err(Error::Truncated(NAME));
            }
            Ok(<Self as $crate::field::Field>::get(&$crate::field::padded::<{ Self::LEN }>(bytes), 0))
        }
    };
    (bytes) => {
        $crate::field::method! { bytes [] }
    };
    (bytes $start:expr) => {
        /// All bytes, with zeros where no field is.
        #[must_use]
        pub fn bytes(&self) -> [u8; Self::LEN] {
            let mut bytes = [0; Self::LEN];
            $crate::field::put(&mut bytes, 0, &$start);
            <Self as $crate::field::Field>::put(*self, &mut bytes, 0);
            bytes
        }
    };
}

/// The form of a field: its type, if nothing else is said.
macro_rules! form {
    ($type:ty) => {
        $type
    };
    ($type:ty as $form:ty) => {
        $form
    };
}

/// Declares constants, a line for each: of a module, of a type, or of a new type around a number, which is a field then as the
/// number is. With `name`, that type's `name` gives back what stands after `as`.
///
/// ```text
/// values! {
///     /// The protocol of an IP payload (IANA, Protocol Numbers).
///     pub struct IpProtocol(u8), name;
///     TCP = 6, "Transmission Control Protocol." as "TCP";
/// }
/// ```
macro_rules! values {
    ($(#[$doc:meta])* pub mod $module:ident: $type:ty; $($value:ident = $code:expr, $text:literal;)*) => {
        $(#[$doc])*
        pub mod $module {
            $(#[doc = $text] pub const $value: $type = $code;)*
        }
    };
    (impl $owner:ty: $type:ty; $($value:ident = $code:expr, $text:literal;)*) => {
        impl $owner {
            $(#[doc = $text] pub const $value: $type = $code;)*
        }
    };
    ($(#[$doc:meta])* pub struct $new:ident($inner:ty); $($value:ident = $code:expr, $text:literal;)*) => {
        $(#[$doc])*
        pub struct $new(pub $inner);

        $crate::field::newtype!($new($inner));
        $crate::field::values! { impl $new: Self; $($value = Self($code), $text;)* }
    };
    ($(#[$doc:meta])* pub struct $new:ident($inner:ty), name; $($value:ident = $code:expr, $text:literal as $name:literal;)*) => {
        $crate::field::values! { $(#[$doc])* pub struct $new($inner); $($value = $code, $text;)* }

        impl $new {
            /// The name of a value that has one.
            const fn name(self) -> Option<&'static str> {
                Some(match self {
                    $(Self::$value => $name,)*
                    _ => return None,
                })
            }
        }
    };
}

pub(crate) use {form, method, newtype, parsed, payload, record, values, view};
