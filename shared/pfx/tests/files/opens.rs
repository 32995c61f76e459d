//! Files that open, and the returned data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minutehand_pfx::{open, open_base64};

use crate::fixtures::{EC, ED25519, JAVA, LEAF, MAKECERT, NAMES, PASSWORD, RSA, fixture};

/// A file, its password, and the thumbprint of its certificate.
type Row = (&'static str, &'static str, &'static str);

fn check(rows: &[Row]) {
    for (name, password, thumbprint) in rows {
        let opened =
            open(&fixture(name), password).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(opened.thumbprint, *thumbprint, "{name}");
        assert!(!opened.key.pkcs8_der().is_empty(), "{name}");
    }
}

#[test]
fn files_with_every_supported_algorithm_open() {
    check(&[
        ("rsa-old.p12", PASSWORD, RSA),
        ("rsa-new.p12", PASSWORD, RSA),
        ("ec-old.p12", PASSWORD, EC),
        ("ec-new.p12", PASSWORD, EC),
        ("aes128.p12", PASSWORD, EC),
        ("sha512.p12", PASSWORD, EC),
        ("pbkdf2-sha1.p12", PASSWORD, EC),
        ("java.p12", PASSWORD, JAVA),
        ("3des-both.p12", PASSWORD, EC),
        ("3des2-rc2-128.p12", PASSWORD, EC),
        ("one-round.p12", PASSWORD, EC),
        ("no-mac.p12", PASSWORD, EC),
        ("unencrypted.p12", PASSWORD, EC),
    ]);
}

#[test]
fn a_password_may_be_empty_or_contain_any_character() {
    check(&[
        ("empty-old.p12", "", EC),
        ("empty-new.p12", "", EC),
        ("empty-null.p12", "", EC),
        ("accents-old.p12", "schlüssel – κλειδί", EC),
        ("accents-new.p12", "schlüssel – κλειδί", EC),
        ("emoji-old.p12", "key🔑", EC),
        ("emoji-new.p12", "key🔑", EC),
    ]);
}

#[test]
fn the_certificate_belongs_to_the_key_in_the_file() {
    check(&[
        ("ed25519.p12", PASSWORD, ED25519),
        // Without local key ids, RSA and EC keys match by value; the Ed25519 file has one certificate.
        ("no-ids.p12", PASSWORD, EC),
        ("rsa-no-ids.p12", PASSWORD, RSA),
        ("ed25519-no-ids.p12", PASSWORD, ED25519),
        // The root comes first, and an unrelated certificate is in between.
        ("chain.p12", PASSWORD, LEAF),
        // A negative serial number.
        ("makecert.p12", PASSWORD, MAKECERT),
    ]);
}

#[test]
fn the_recorded_certificate_gives_its_recorded_fields() {
    let text = STANDARD.encode(fixture("recorded.p12"));
    let opened = open_base64(&text, "not-a-secret").unwrap();
    assert_eq!(opened.thumbprint, "D63C46A2CC60F1BB520D64A22EA1EE89DE1F2D40");
    assert_eq!(opened.subject, "CN=Minutehand Test Client");
    assert_eq!(opened.expires_at.to_string(), "2126-10-28 08:44:03 UTC");
    assert_eq!(opened.chain.len(), 1);
}

#[test]
fn a_chain_starts_with_the_leaf_and_has_no_unrelated_certificate() {
    let opened = open(&fixture("chain.p12"), PASSWORD).unwrap();
    let has = |der: &[u8], text: &str| der.windows(text.len()).any(|part| part == text.as_bytes());
    let [leaf, issuing, root] = opened.chain.as_slice() else { panic!("{}", opened.chain.len()) };
    assert!(has(leaf, "minutehand leaf") && has(leaf, "minutehand issuing"));
    assert!(has(issuing, "minutehand issuing") && has(issuing, "minutehand root"));
    assert!(has(root, "minutehand root") && !has(root, "minutehand issuing"));
}

#[test]
fn a_key_is_the_same_however_it_was_encrypted() {
    let key = |name: &str| open(&fixture(name), PASSWORD).unwrap().key.pkcs8_der().to_vec();
    assert_eq!(key("rsa-old.p12"), key("rsa-new.p12"));
    assert_eq!(key("ec-old.p12"), key("unencrypted.p12"));
}

#[test]
fn a_subject_is_written_as_dotnet_writes_it() {
    let subject = |name: &str| open(&fixture(name), PASSWORD).unwrap().subject;
    assert_eq!(subject("makecert.p12"), "CN=May14SchedulerMgmt");
    assert_eq!(
        subject("rsa-new.p12"),
        r#"CN=minutehand test, OU=Jobs, O="Contoso, Ltd.", S=Washington, C=US"#
    );
    assert_eq!(
        subject("names.p12"),
        "E=ada@example.net, OID.2.5.4.97=VAT-1, G=Ada + CN=multi + SN=Lovelace, SERIALNUMBER=42, \
         OU=\" padded \", O=\"Ünïted \"\"Jobs\"\" <a+b>\", DC=example, DC=net"
    );
    assert_eq!(open(&fixture("names.p12"), PASSWORD).unwrap().thumbprint, NAMES);
}

#[test]
fn base64_may_be_wrapped() {
    let text = STANDARD.encode(fixture("ec-new.p12"));
    let lines: Vec<_> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let wrapped = format!("\r\n  {}\r\n", lines.join("\r\n"));
    assert_eq!(open_base64(&wrapped, PASSWORD).unwrap().thumbprint, EC);
}

#[test]
fn debug_output_hides_the_key() {
    let opened = open(&fixture("ec-new.p12"), PASSWORD).unwrap();
    assert_eq!(format!("{:?}", opened.key), "PrivateKey(..)");
    assert!(format!("{opened:?}").ends_with("key: PrivateKey(..) }"));
}
