//! Enums whose values have names.

/// Defines an enum with a name beside each value. Without one, it has the name of the value itself.
///
/// It has all values in `ALL`, the name of a value in `name`, and the value of a name in `named` and
/// `read_name`. If a function stands behind the name of the enum, it answers the text that stands behind the
/// name of each value.
#[macro_export]
macro_rules! named {
    (@ $value:ident) => { stringify!($value) };
    (@ $value:ident $name:literal) => { $name };
    (
        $(#[$about:meta])*
        pub enum $type:ident {
            $($(#[$meta:meta])* $value:ident $(= $name:literal)?,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $type {
            $($(#[$meta])* $value,)+
        }

        impl $type {
            /// All values.
            pub const ALL: [Self; [$(stringify!($value)),+].len()] = [$(Self::$value),+];

            /// The name, as answered and stored.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $crate::named!(@ $value $($name)?),)+
                }
            }

            /// The value with exactly this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }

            /// The value with this name, in any case.
            #[must_use]
            pub fn read_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name().eq_ignore_ascii_case(name))
            }
        }
    };
    (
        $(#[$about:meta])*
        pub enum $type:ident: $visible:vis fn $text:ident {
            $($(#[$meta:meta])* $value:ident = $name:literal: $words:literal,)+
        }
    ) => {
        $crate::named! {
            $(#[$about])*
            pub enum $type {
                $($(#[$meta])* $value = $name,)+
            }
        }

        impl $type {
            /// The text that stands behind its name.
            #[must_use]
            $visible const fn $text(self) -> &'static str {
                match self {
                    $(Self::$value => $words,)+
                }
            }
        }
    };
}
