//! What the API reads from its environment.

use domain::pricing_tier::PlanLimits;
use rest::Access;
use runtime_aws::Variables;

/// The API's settings.
pub struct ApiSettings {
    /// The table in which everything is kept.
    pub table: String,
    /// Where what is due soon goes.
    pub queue_url: String,
    /// The key under which secrets are sealed.
    pub key_id: String,
    /// Who may call.
    pub access: Access,
    /// Whether plans limit anything.
    pub plan_limits: PlanLimits,
}

/// Who decides who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Auth {
    /// We do, by tokens.
    Token,
    /// API Gateway does, before it calls us: by IAM, or by a JWT of an issuer.
    Gateway,
}

impl ApiSettings {
    /// Reads them.
    pub fn read(variables: &mut Variables) -> Self {
        Self {
            table: variables.table(),
            queue_url: variables.queue_url(),
            key_id: variables.key_id(),
            access: access(variables),
            plan_limits: variables.plan_limits(),
        }
    }
}

/// Nobody is let in by leaving something out: without a word it is tokens.
fn access(variables: &mut Variables) -> Access {
    let auths = [("token", Auth::Token), ("iam", Auth::Gateway), ("jwt", Auth::Gateway)];
    let auth = variables.choice("MINUTEHAND_AUTH", &auths, Auth::Token);
    let name = "MINUTEHAND_TOKEN_HASHES";
    let hashes = variables.optional(name).unwrap_or_default();
    if auth == Auth::Gateway {
        return Access::Open;
    }
    let hashes = hashes.split(',').map(str::trim).filter(|hash| !hash.is_empty());
    let mut tokens = Vec::new();
    let mut wrong = 0;
    for hash in hashes {
        match unhex(hash) {
            Some(hash) => tokens.push(hash),
            None => wrong += 1,
        }
    }
    if wrong > 0 {
        variables.problem(format!(
            "{name} holds {wrong} that are no SHA-256: give 64 hexadecimal digits for each token, \
             with commas between them"
        ));
    } else if tokens.is_empty() {
        variables.problem(format!(
            "{name} is not set: nobody could call. It is the SHA-256 of each token, as printf \
             '%s' \"$TOKEN\" | sha256sum prints it; or set MINUTEHAND_AUTH to iam or jwt"
        ));
    }
    Access::Tokens(tokens)
}

/// The SHA-256 that 64 hexadecimal digits stand for.
fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(more: &[(&str, &str)]) -> (ApiSettings, Vec<String>) {
        let usual = [
            ("MINUTEHAND_TABLE", "t"),
            ("MINUTEHAND_QUEUE_URL", "https://sqs.eu-west-1.amazonaws.com/1/q"),
            ("MINUTEHAND_KEY_ID", "k"),
        ];
        let mut variables = Variables::of(usual.into_iter().chain(more.iter().copied()));
        let settings = ApiSettings::read(&mut variables);
        (settings, variables.problems().to_vec())
    }

    #[test]
    fn tokens_are_read_from_their_hashes() {
        let (one, other) = ("0a".repeat(32), "FF".repeat(32));
        let (settings, problems) =
            read(&[("MINUTEHAND_TOKEN_HASHES", &format!("{one}, {other},"))]);
        assert!(problems.is_empty(), "{problems:?}");
        assert!(matches!(settings.access, Access::Tokens(it) if it == [[10; 32], [255; 32]]));
    }

    #[test]
    fn nobody_is_let_in_by_mistake() {
        let long = "00".repeat(33);
        for (variables, words) in [
            (vec![], "MINUTEHAND_TOKEN_HASHES is not set"),
            (vec![("MINUTEHAND_TOKEN_HASHES", " , ")], "MINUTEHAND_TOKEN_HASHES is not set"),
            (vec![("MINUTEHAND_TOKEN_HASHES", "open-sesame")], "holds 1 that are no SHA-256"),
            (vec![("MINUTEHAND_TOKEN_HASHES", long.as_str())], "holds 1 that are no SHA-256"),
            (vec![("MINUTEHAND_AUTH", "none")], "give one of token, iam, jwt"),
        ] {
            let (settings, problems) = read(&variables);
            assert!(problems.iter().any(|it| it.contains(words)), "{variables:?}: {problems:?}");
            assert!(!matches!(settings.access, Access::Open));
            // It may be a token by mistake.
            assert!(!problems.iter().any(|it| it.contains("open-sesame")), "{problems:?}");
        }
    }

    #[test]
    fn where_the_gateway_decides_we_do_not() {
        for auth in ["iam", "jwt", "IAM"] {
            let (settings, problems) = read(&[("MINUTEHAND_AUTH", auth)]);
            assert!(problems.is_empty(), "{problems:?}");
            assert!(matches!(settings.access, Access::Open));
        }
    }
}
