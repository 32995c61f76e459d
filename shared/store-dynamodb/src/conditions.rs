//! The conditions of the writes by which attempts are claimed, recorded and counted.
//!
//! They stand here because tests read them, too: the model that explores every order of steps decides by them.

/// A claim begins an attempt that has not begun.
pub const CLAIM: &str = "attribute_not_exists(pk)";
/// A claim is taken over only as it was seen.
pub const TAKE_OVER: &str = "claim_id = :seen AND lease_until = :seen_lease AND attribute_not_exists(ended_at) \
     AND attribute_not_exists(ending)";
/// What a claim allows, which is to record the attempt or to give the claim back, needs that very claim.
pub const UNDER_CLAIM: &str = "claim_id = :mine AND attribute_not_exists(ended_at)";
/// An attempt is left open under the claim that it was made under, unless its end was reported before.
pub const OPENS: &str = "claim_id = :mine AND attribute_not_exists(ended_at) \
     AND attribute_not_exists(open_until) AND attribute_not_exists(ending)";
/// An ending is said once, of an attempt that has begun and not ended.
pub const SAYS_ENDING: &str =
    "claims > :none AND attribute_not_exists(ended_at) AND attribute_not_exists(ending)";
/// An ending is recorded that was said. Whose claim it was is of no matter.
pub const RECORDS_ENDING: &str = "attribute_exists(ending) AND attribute_not_exists(ended_at)";
/// The attribute of a timer with the attempts that were counted last.
pub const COUNTED: &str = "settled";
/// Counters are added to only if the attempts that were counted last are those that were read.
pub const COUNT: &str = "settled = :as_read";
/// A job is finished as it was when that was decided, and once. Earlier builds did not store the version in the
/// timer, and left the timer in the index.
pub const FINISH: &str = "generation = :generation AND (version = :version OR attribute_not_exists(version)) \
     AND (#state = :enabled OR (#state = :state AND attribute_exists(due_at)))";
