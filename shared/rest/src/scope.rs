//! What a token allows.

use minutehand_domain::named;

use crate::failure::{ErrorCode, Failure};

named! {
    /// What a token allows. Each scope includes the ones before it.
    #[derive(PartialOrd, Ord)]
    pub enum Scope {
        /// Requests that change nothing: GET and HEAD.
        Read = "read",
        /// Also `POST …/run`, `POST …/redrive` of an occurrence, and `POST …/alert/test`.
        Run = "run",
        /// Every request.
        All = "all",
    }
}

impl Scope {
    /// Checks that a request is allowed that needs the scope `needed`.
    ///
    /// # Errors
    ///
    /// If this scope is smaller.
    pub(crate) fn check(self, needed: Self) -> Result<(), Failure> {
        if self >= needed {
            return Ok(());
        }
        let (own, needed) = (self.name(), needed.name());
        Err(Failure::new(
            ErrorCode::AuthorizationFailed,
            format!("The token has the scope '{own}'; this request needs a token with '{needed}'."),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_includes_the_smaller_ones() {
        use Scope::{All, Read, Run};
        for (scope, allowed) in [(Read, &[Read][..]), (Run, &[Read, Run]), (All, &[Read, Run, All])]
        {
            let found: Vec<Scope> =
                Scope::ALL.into_iter().filter(|needed| scope.check(*needed).is_ok()).collect();
            assert_eq!(found, allowed, "{scope:?}");
            assert_eq!(Scope::named(scope.name()), Some(scope));
        }
        assert_eq!(Scope::named("admin"), None);
    }
}
