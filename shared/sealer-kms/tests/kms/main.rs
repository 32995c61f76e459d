//! The sealer, tested against a fake KMS.

// The attribute is always true here; it tells clippy that the helpers are test code.
#[cfg(test)]
mod sealing;
