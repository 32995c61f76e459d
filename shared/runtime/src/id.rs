//! New ids, from the system's source of randomness.

use minutehand_ports::IdSource;

/// The bytes of an id: with 128 random bits, no two are ever the same.
const BYTES: usize = 16;

/// Creates ids of 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    #[expect(
        clippy::expect_used,
        reason = "a system that provided randomness when the process started does not run out of it"
    )]
    fn new_id(&self) -> String {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).expect("the system has randomness");
        format!("{:032x}", u128::from_ne_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_32_hexadecimal_digits_and_is_different_each_time() {
        let (one, other) = (RandomIds.new_id(), RandomIds.new_id());
        assert_ne!(one, other);
        for id in [one, other] {
            assert_eq!(id.len(), 32);
            assert!(id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{id}");
        }
    }
}
