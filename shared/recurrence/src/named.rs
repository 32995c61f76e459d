//! Enums whose values have names.

/// Defines an enum with a name beside each value.
///
/// It has all values in `ALL`, and the name of a value in `name`.
#[macro_export]
macro_rules! named {
    (
        $(#[$about:meta])*
        pub enum $type:ident {
            $($(#[$meta:meta])* $value:ident = $name:literal,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $type {
            $($(#[$meta])* $value,)+
        }

        impl $type {
            /// All values.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// The name, as answered and stored.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}
