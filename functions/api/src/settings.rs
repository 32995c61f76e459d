//! The API's settings, from environment variables.

use minutehand_archive_objects::Objects;
use minutehand_console::SignIn;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::own::OwnResources;
use minutehand_domain::plan::PlanLimits;
use minutehand_rest::{Access, Token};
use minutehand_runtime_aws::Variables;

/// The API's settings.
pub struct ApiSettings {
    /// The name of the DynamoDB table.
    pub table: String,
    /// For how long history is kept.
    pub history: HistoryDays,
    /// The queue for jobs that are due soon.
    pub queue_url: String,
    /// The queue of dead letters, if the API may look at it.
    pub dead_letters_url: Option<String>,
    /// The KMS key that seals secrets.
    pub key_id: String,
    /// The installation's own resources, to which no job may send.
    pub own: OwnResources,
    /// Whether jobs may send to AWS at all.
    pub has_aws: bool,
    /// The tokens that give access.
    pub access: Access,
    /// The address at which targets reach this API.
    pub public_url: Option<String>,
    /// Whether the limits of plans apply.
    pub plan_limits: PlanLimits,
    /// How a browser signs in, if not with one of the tokens.
    pub sign_in: Option<SignIn>,
    /// Where history is that has expired in the table, and where the bodies of failures and of pings are.
    pub archive: Option<Objects>,
}

/// The component that authenticates callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Auth {
    /// This function, by tokens.
    Token,
    /// API Gateway, before it calls the function: with IAM.
    Iam,
    /// API Gateway: with a JWT of an issuer.
    Jwt,
}

impl ApiSettings {
    /// Reads the settings.
    pub fn read(variables: &mut Variables) -> Self {
        let auths = [("token", Auth::Token), ("iam", Auth::Iam), ("jwt", Auth::Jwt)];
        // Without a setting callers need a token, so a missing setting never opens the API.
        let auth = variables.choice("MINUTEHAND_AUTH", &auths, Auth::Token);
        Self {
            table: variables.table(),
            history: variables.history_days(),
            queue_url: variables.queue_url(),
            dead_letters_url: variables.optional("MINUTEHAND_DEAD_LETTERS_URL"),
            key_id: variables.key_id(),
            own: variables.own_resources(),
            has_aws: variables.choice("MINUTEHAND_ACTIONS", &[("on", true), ("off", false)], false),
            access: access(variables, auth),
            public_url: variables.public_url(),
            plan_limits: variables.plan_limits(),
            sign_in: sign_in(variables, auth),
            archive: variables.archive(),
        }
    }
}

/// How a browser signs in. A function whose stack is older names no issuer: its page says that a command
/// is needed.
fn sign_in(variables: &mut Variables, auth: Auth) -> Option<SignIn> {
    let [issuer, audience, client_id] =
        ["MINUTEHAND_JWT_ISSUER", "MINUTEHAND_JWT_AUDIENCE", "MINUTEHAND_JWT_CLIENT_ID"]
            .map(|name| variables.optional(name).filter(|value| !value.is_empty()));
    match (auth, issuer) {
        (Auth::Token, _) => None,
        (Auth::Iam, _) | (Auth::Jwt, None) => Some(SignIn::signed()),
        (Auth::Jwt, Some(issuer)) => {
            let audience = audience.unwrap_or_default();
            let audiences: Vec<&str> = audience.split(',').filter(|it| !it.is_empty()).collect();
            let found = SignIn::at_issuer(&issuer, &audiences, client_id.as_deref());
            if found.is_none() {
                variables.problem("MINUTEHAND_JWT_ISSUER is not an https URL".to_owned());
            }
            found
        }
    }
}

fn access(variables: &mut Variables, auth: Auth) -> Access {
    let name = "MINUTEHAND_TOKEN_HASHES";
    let hashes = variables.optional(name).unwrap_or_default();
    if auth != Auth::Token {
        return Access::Open;
    }
    let tokens = Token::read_setting(&hashes).unwrap_or_else(|(number, why)| {
        variables.problem(format!(
            "{name}: token {number}: {why}; give the hash of each token, separated by commas, and limits \
             after a colon, like HASH:scope=run:collections=shop/*"
        ));
        Vec::new()
    });
    if hashes.split(',').all(|token| token.trim().is_empty()) {
        variables.problem(format!(
            "{name} is not set, so no client would have access: give the SHA-256 hash of each token, \
             as printed by printf '%s' \"$TOKEN\" | sha256sum, or set MINUTEHAND_AUTH to iam or jwt"
        ));
    }
    Access::Tokens(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(more: &[(&str, &str)]) -> (ApiSettings, Vec<String>) {
        let usual = [
            ("MINUTEHAND_TABLE", "t"),
            ("MINUTEHAND_QUEUE_URL", "https://sqs.eu-west-1.amazonaws.com/1/q"),
            ("MINUTEHAND_KEY_ID", "k"),
            ("MINUTEHAND_OWN_ARNS", "arn:aws:sqs:eu-west-1:123456789012:q"),
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
        let expected = [[10; 32], [255; 32]].map(Token::with_all_rights);
        assert!(matches!(settings.access, Access::Tokens(it) if it == expected));
    }

    #[test]
    fn a_browser_is_told_how_to_sign_in() {
        let jwt = [
            ("MINUTEHAND_AUTH", "jwt"),
            ("MINUTEHAND_JWT_ISSUER", "https://login.example.com"),
            ("MINUTEHAND_JWT_AUDIENCE", "api,app"),
            ("MINUTEHAND_JWT_CLIENT_ID", "app"),
        ];
        let at_issuer = SignIn::at_issuer(jwt[1].1, &["api", "app"], Some("app"));
        assert_eq!(read(&jwt).0.sign_in, at_issuer);
        let without_client = SignIn::at_issuer(jwt[1].1, &["api", "app"], None);
        assert_eq!(read(&jwt[..3]).0.sign_in, without_client);
        assert_eq!(read(&jwt[..1]).0.sign_in, Some(SignIn::signed()));
        assert_eq!(read(&[("MINUTEHAND_AUTH", "iam")]).0.sign_in, Some(SignIn::signed()));
        assert_eq!(read(&[("MINUTEHAND_TOKEN_HASHES", &"00".repeat(32))]).0.sign_in, None);
        let (_, problems) = read(&[jwt[0], ("MINUTEHAND_JWT_ISSUER", "login")]);
        assert_eq!(problems, ["MINUTEHAND_JWT_ISSUER is not an https URL"]);
    }

    #[test]
    fn a_missing_or_invalid_setting_never_opens_the_api() {
        let long = "00".repeat(33);
        let wide = format!("{}:collection=ops/*", "00".repeat(32));
        for (variables, words) in [
            (vec![], "MINUTEHAND_TOKEN_HASHES is not set"),
            (vec![("MINUTEHAND_TOKEN_HASHES", " , ")], "MINUTEHAND_TOKEN_HASHES is not set"),
            (vec![("MINUTEHAND_TOKEN_HASHES", "open-sesame")], "token 1: it does not begin with a"),
            (vec![("MINUTEHAND_TOKEN_HASHES", long.as_str())], "token 1: it does not begin with a"),
            (vec![("MINUTEHAND_TOKEN_HASHES", wide.as_str())], "'collection=' is not known"),
            (vec![("MINUTEHAND_AUTH", "none")], "give one of token, iam, jwt"),
        ] {
            let (settings, problems) = read(&variables);
            assert!(problems.iter().any(|it| it.contains(words)), "{variables:?}: {problems:?}");
            assert!(!matches!(settings.access, Access::Open));
            // The invalid value may be a token in plain text, so it is not repeated.
            assert!(!problems.iter().any(|it| it.contains("open-sesame")), "{problems:?}");
        }
    }

    #[test]
    fn with_iam_or_jwt_the_gateway_authenticates_and_the_function_does_not() {
        for auth in ["iam", "jwt", "IAM"] {
            let (settings, problems) = read(&[("MINUTEHAND_AUTH", auth)]);
            assert!(problems.is_empty(), "{problems:?}");
            assert!(matches!(settings.access, Access::Open));
        }
    }
}
