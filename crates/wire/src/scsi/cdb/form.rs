//! Forms of commands, and of the fields that only commands have.

use super::cdb_len;
use super::opcode::VARIABLE_LENGTH;
use crate::field::{Bits, Field};

/// A command as it may be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CdbForm {
    /// Its name in SPC-4 or SBC-3.
    pub name: &'static str,
    /// Its service action, if its opcode has several.
    pub action: Option<u16>,
    /// Its bytes: the opcode, and then a one for each bit that is looked at (SPC-4, clause 6.35.3: CDB usage data), but
    /// the service action itself where one stands.
    pub usage: &'static [u8],
}

impl CdbForm {
    /// The first byte.
    #[must_use]
    pub const fn opcode(&self) -> u8 {
        self.usage[0]
    }

    /// Bytes of the command descriptor block.
    #[must_use]
    pub const fn cdb_len(&self) -> u8 {
        cdb_len(self.opcode())
    }
}

/// A place and the bits that are looked at there.
type Bytes = (usize, &'static [u8]);

/// Bits of a field in the usage data of a command's form, and of its wide form.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    narrow: Bytes,
    wide: Bytes,
}

/// The mark of a field at this place.
pub(super) const fn mark<F: CdbField>(at: usize) -> Mark {
    let narrow = (at, F::MASKS);
    Mark { narrow, wide: if let Some(wide) = F::WIDE { wide } else { narrow } }
}

/// Usage data of a form with these fields.
pub(super) const fn usage(opcode: u8, action: Option<u16>, wide: bool, fields: &[&[Mark]]) -> [u8; 32] {
    let mut usage = [0; 32];
    let mut group = 0;
    while group < fields.len() {
        let mut field = 0;
        while field < fields[group].len() {
            let mark = fields[group][field];
            usage = with(usage, if wide { mark.wide } else { mark.narrow });
            field += 1;
        }
        group += 1;
    }
    fixed(usage, opcode, action)
}

/// Usage data of a transfer, of which these bits are looked at in the byte of its options. See [`Transfer`](super::Transfer)
/// for the places.
pub(super) const fn transfer_usage(opcode: u8, action: Option<u16>, options: &'static [u8; 1]) -> [u8; 32] {
    let (options_at, lba, len): (usize, Bytes, Bytes) = match cdb_len(opcode) {
        6 => (1, (1, &[0x1f, 0xff, 0xff]), (4, &[0xff])),
        10 => (1, (2, &[0xff; 4]), (7, &[0xff; 2])),
        12 => (1, (2, &[0xff; 4]), (6, &[0xff; 4])),
        16 => (1, (2, &[0xff; 8]), (10, &[0xff; 4])),
        // The tags stand between.
        _ => (10, (12, &[0xff; 16]), (28, &[0xff; 4])),
    };
    fixed(with(with(with([0; 32], (options_at, options)), lba), len), opcode, action)
}

const fn with(mut usage: [u8; 32], (at, masks): Bytes) -> [u8; 32] {
    let mut i = 0;
    while i < masks.len() {
        usage[at + i] |= masks[i];
        i += 1;
    }
    usage
}

/// Adds to usage data the parts of all forms: opcode, service action, and NACA in CONTROL; in 32 bytes CONTROL comes second, the additional
/// length in byte 7, the service action in bytes 8 and 9.
const fn fixed(mut usage: [u8; 32], opcode: u8, action: Option<u16>) -> [u8; 32] {
    let [high, low] = match action {
        Some(action) => action.to_be_bytes(),
        None => [0, 0],
    };
    usage[0] = opcode;
    if opcode == VARIABLE_LENGTH {
        usage[1] = 4;
        usage = with(usage, (7, &[0xff]));
        (usage[8], usage[9]) = (high, low);
    } else {
        usage[1] |= low;
        usage[cdb_len(opcode) as usize - 1] |= 4;
    }
    usage
}

/// The name of a field in errors.
pub(super) fn called(field: &'static str) -> &'static str {
    match field {
        "allocation" => "allocation length",
        "len" => "parameter list length",
        "offset" => "buffer offset",
        other => other,
    }
}

/// A field of a command.
pub(super) trait CdbField: Field {
    /// Its place and its bits in the wide form of the command, if they are others there.
    const WIDE: Option<Bytes> = None;
}

macro_rules! cdb_fields {
    ($($field:ty),*) => { $(impl CdbField for $field {})* };
}

cdb_fields!(u8, u16, u32, u64, crate::field::U24, Action, Page);
impl<const N: u8> CdbField for crate::field::Bit<N> {}
impl<const HIGH: u8, const LOW: u8> CdbField for Bits<HIGH, LOW> {}

/// A service action, which is a field: its bits are not told, but itself.
pub(super) struct Action;

impl Field for Action {
    type Value = u8;

    fn get(bytes: &[u8], at: usize) -> u8 {
        Bits::<4, 0>::get(bytes, at)
    }

    fn put(value: u8, bytes: &mut [u8], at: usize) {
        Bits::<4, 0>::put(value, bytes, at);
    }
}

/// EVPD, and the page code behind it. Bit 1 is looked at too: it is refused.
pub(super) struct Page;

impl Field for Page {
    type Value = Option<u8>;
    const MASKS: &'static [u8] = &[3, 0xff];

    fn get(bytes: &[u8], at: usize) -> Option<u8> {
        (bytes[at] & 1 != 0).then_some(bytes[at + 1])
    }

    fn put(value: Option<u8>, bytes: &mut [u8], at: usize) {
        (bytes[at], bytes[at + 1]) = (u8::from(value.is_some()), value.unwrap_or(0));
    }
}

/// A field that some actions of PERSISTENT RESERVE OUT do not look at: REGISTER, CLEAR, and REGISTER AND IGNORE EXISTING KEY.
/// The forms of the others have its bits.
pub(super) struct OfReservation<F>(F);

impl<F: Field<Value = u8>> Field for OfReservation<F> {
    type Value = u8;

    fn get(bytes: &[u8], at: usize) -> u8 {
        if matches!(Action::get(bytes, 1), 0 | 3 | 6) { 0 } else { F::get(bytes, at) }
    }

    fn put(value: u8, bytes: &mut [u8], at: usize) {
        F::put(value, bytes, at);
    }
}

impl<F: Field<Value = u8>> CdbField for OfReservation<F> {}

/// A field of a command with two opcodes, which differ in bit `BIT`: in the wide form, which has it, the field is `W` at `AT`.
pub(super) struct Either<const BIT: u8, N, W, const AT: usize>(N, W);

impl<const BIT: u8, N, W, const AT: usize> Field for Either<BIT, N, W, AT>
where
    N: Field,
    W: Field<Value: TryInto<N::Value> + From<N::Value> + Copy>,
{
    type Value = W::Value;
    const MASKS: &'static [u8] = N::MASKS;

    fn get(bytes: &[u8], at: usize) -> W::Value {
        if bytes[0] & 1 << BIT == 0 { N::get(bytes, at).into() } else { W::get(bytes, AT) }
    }

    fn put(value: W::Value, bytes: &mut [u8], at: usize) {
        if bytes[0] & 1 << BIT != 0 {
            W::put(value, bytes, AT);
        } else if let Ok(value) = value.try_into() {
            N::put(value, bytes, at);
        }
    }

    fn fits(value: &W::Value, bytes: &[u8]) -> bool {
        bytes[0] & 1 << BIT != 0 || TryInto::<N::Value>::try_into(*value).is_ok()
    }
}

impl<const BIT: u8, N, W, const AT: usize> CdbField for Either<BIT, N, W, AT>
where
    Self: Field,
    W: Field,
{
    const WIDE: Option<Bytes> = Some((AT, W::MASKS));
}

/// A field that the form does not have.
pub(super) struct Absent<V>(V);

impl<V: Default> Field for Absent<V> {
    type Value = V;

    fn get(_bytes: &[u8], _at: usize) -> V {
        V::default()
    }

    fn put(_value: V, _bytes: &mut [u8], _at: usize) {}
}
