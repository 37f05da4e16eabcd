//! Declaration of commands.

/// Makes of one declaration for each command its variant of [`Cdb`](super::Cdb), its opcode, its parser, its serializer, its
/// effect on the medium, and its row in [`FORMS`](super::FORMS). They come in the order of that table:
///
/// - `command OPCODE = NUMBER "NAME", Access Variant "documentation" { FIELDS }`: a line for each field has its first byte, its
///   name, its type, its form if that is another than the type's own, and its documentation. `OPCODE | WIDE` has two forms.
/// - `command OPCODE of NUMBER "NAME OF ALL" / ACTION "NAME" …`: an opcode with service actions; others of them leave out
///   the number. `+ AT FORM` is looked at for that action only.
/// - `form WIDE = NUMBER "NAME", Variant`: the wide form of a command, whose fields may be [`Either`](super::form::Either).
/// - `transfer OPCODE = NUMBER "NAME", Family Width OPTIONS`: a form of a command that names blocks, and the bits of its
///   options. `transfers` has the variants of these families.
macro_rules! commands {
    (
        transfers { $($(#[$doc:meta])* $family_access:ident $family:ident $body:tt)* }
        $(
            $(
                command $op:ident $(| $wide:ident)? $(= $code:literal $name:literal)? $(of $shared:literal $about:literal)?
                $(/ $action:literal $row:literal $(+ $more_at:literal $more:ty)?)*,
                $access:ident $variant:ident $text:literal
                $({ $($at:literal $field:ident: $type:ty $(as $form:ty)? = $what:literal;)* })?
            )?
            $(form $wide_op:ident = $wide_code:literal $wide_name:literal, $wide_variant:ident)?
            $(
                transfer $block_op:ident $(= $block_code:literal $block_name:literal)?
                $(of $block_shared:literal $block_about:literal)? $(/ $block_action:literal $block_row:literal)?,
                $of:ident $width:ident $options:expr
            )?
        ;)*
    ) => {
        /// A command, of those that [`FORMS`] lists.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Cdb {
            $($(#[$doc])* $family $body,)*
            $($(#[doc = $text] $variant $({ $(#[doc = $what] $field: $type,)* })?,)?)*
        }

        /// The commands that name blocks, whatever the width.
        #[derive(Clone, Copy)]
        pub(super) enum Family {
            $($family,)*
        }

        /// Opcodes, as the first byte of a command descriptor block says them (SPC-4, annex E.3.1).
        pub mod opcode {
            $(
                $(
                    $(#[doc = concat!($name, ".")] pub const $op: u8 = $code;)?
                    $(#[doc = concat!($about, ".")] pub const $op: u8 = $shared;)?
                )?
                $(#[doc = concat!($wide_name, ".")] pub const $wide_op: u8 = $wide_code;)?
                $(
                    $(#[doc = concat!($block_name, ".")] pub const $block_op: u8 = $block_code;)?
                    $(#[doc = concat!($block_about, ".")] pub const $block_op: u8 = $block_shared;)?
                )?
            )*
        }

        /// Fields of each command, in the usage data of its forms.
        #[expect(non_upper_case_globals, reason = "they are called as the commands are")]
        mod marks {
            use super::*;

            $($(
                pub(super) const $variant: &[Mark] = &[$($(mark::<crate::field::form!($type $(as $form)?)>($at),)*)?];
            )?)*
        }

        /// All commands that [`Cdb::parse`] knows.
        pub const FORMS: &[CdbForm] = &[$(
            $(
                $(row!($name, None, usage($op, None, false, &[marks::$variant])),)? $(
                    row!($row, Some($action), usage(
                        $op, Some($action), false, &[marks::$variant, &[$(mark::<$more>($more_at))?]]
                    )),
                )*
            )?
            $(row!($wide_name, None, usage($wide_op, None, true, &[marks::$wide_variant])),)?
            $(
                $(row!($block_name, None, transfer_usage($block_op, None, &[$options])),)?
                $(row!($block_row, Some($block_action), transfer_usage($block_op, Some($block_action), &[$options])),)?
            )?
        )*];

        impl Cdb {
            /// The command of this opcode and service action; None if there is none.
            #[expect(clippy::manual_range_patterns, reason = "the actions of a command are those that it declares")]
            pub(super) fn read(opcode: u8, action: u16, cdb: &[u8]) -> Result<Option<Self>, CdbError> {
                Ok(Some(match (opcode, action) {
                    $(
                        $(
                            ($op $(| $wide)?, actions!($($action),*)) => Self::$variant $({
                                $($field: <crate::field::form!($type $(as $form)?)>::get(cdb, $at),)*
                            })?,
                        )?
                        $(($block_op, actions!($($block_action)?)) => Family::$of.command(opcode, cdb)?,)?
                    )*
                    _ => return Ok(None),
                }))
            }

            /// Writes a command of no family.
            pub(super) fn write(&self, to: &mut [u8; 32]) -> Result<(), Error> {
                match *self {
                    $(Self::$family { .. } => {})*
                    $($(
                        Self::$variant $({ $($field),* })? => {
                            (to[0], to[1]) = ($op, [$($action,)* 0][0]);
                            $($(put::<crate::field::form!($type $(as $form)?)>($field, to, $at, stringify!($field))?;)*)?
                        }
                    )?)*
                }
                Ok(())
            }

            /// Effect of the command on the medium, but for exceptions.
            pub(super) const fn declared_access(&self) -> Access {
                match self {
                    $(Self::$family { .. } => Access::$family_access,)*
                    $($(Self::$variant { .. } => Access::$access,)?)*
                }
            }
        }

        /// Opcode and service action of a family's form.
        pub(super) const fn form_of(family: Family, width: Width) -> Option<(u8, u16)> {
            match (family, width) {
                $($((Family::$of, Width::$width { .. }) => Some(($block_op, 0 $(+ $block_action)?)),)?)*
                _ => None,
            }
        }
    };
}

/// A row of the forms.
macro_rules! row {
    ($name:literal, $action:expr, $usage:expr) => {
        CdbForm {
            name: $name,
            action: $action,
            usage: {
                const ALL: &[u8; 32] = &$usage;
                ALL.split_at(cdb_len(ALL[0]) as usize).0
            },
        }
    };
}

/// A pattern for service actions: any, if there are none.
macro_rules! actions {
    () => { _ };
    ($($action:literal),+) => { $($action)|+ };
}

pub(super) use {actions, commands, row};
