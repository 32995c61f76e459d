use super::*;

/// A value for each name: those of a job in Berlin that missed two occurrences.
fn value(name: Placeholder) -> PlaceholderValue<'static> {
    let at = |text: &str| PlaceholderValue::Instant(text.parse().unwrap());
    match name {
        Placeholder::Job => PlaceholderValue::Text("nightly"),
        Placeholder::Collection => PlaceholderValue::Text("ops"),
        Placeholder::Occurrence => at("2026-07-01T22:30:00Z"),
        Placeholder::PreviousOccurrence => at("2026-06-30T22:30:00Z"),
        Placeholder::ScheduledTime => at("2026-07-01T22:30:30.5Z"),
        Placeholder::ExecutionId => PlaceholderValue::Text("u1.1.2.m1"),
        Placeholder::Attempt | Placeholder::Missed => PlaceholderValue::Number(2),
        Placeholder::MissedSince => at("2026-06-29T22:30:00Z"),
        Placeholder::LastSuccess => PlaceholderValue::Absent,
        Placeholder::Cause => PlaceholderValue::Text("said \"no\" & 100 %\nstop"),
        Placeholder::Kind => PlaceholderValue::Text("late"),
        Placeholder::Summary => PlaceholderValue::Text("nightly started 6 min late"),
    }
}

fn render(text: &str, place: TemplatePlace) -> Result<String, String> {
    let template =
        Template::parse(text, place, &Placeholder::ALL).map_err(|error| error.to_string())?;
    Ok(template.render(Zone::named("Europe/Berlin"), &value))
}

#[test]
fn names_become_values_and_all_else_stays() {
    for (text, expected) in [
        ("", ""),
        ("no names, } and { and }}", "no names, } and { and }}"),
        ("{{job}}/{{ collection }}", "nightly/ops"),
        ("{{occurrence}}", "2026-07-01T22:30:00Z"),
        ("{{scheduledTime}}", "2026-07-01T22:30:30.5Z"),
        ("{{attempt}} {{missed}} {{executionId}}", "2 2 u1.1.2.m1"),
        (
            "since {{missedSince}}, before {{previousOccurrence}}",
            "since 2026-06-29T22:30:00Z, before 2026-06-30T22:30:00Z",
        ),
        ("[{{lastSuccess}}|{{lastSuccess:unix}}|{{lastSuccess:date}}]", "[||]"),
        ("{{occurrence:unix}}", "1782945000"),
        ("{{occurrence:date}}", "2026-07-02"),
        ("{{ occurrence : local }}", "2026-07-02T00:30:00+02:00"),
        ("{{scheduledTime:local}}", "2026-07-02T00:30:30.5+02:00"),
        ("{{{{job}}", "{{job}}"),
        ("{{{{{{job}}", "{{nightly"),
        ("${{{{{{missed}}}", "${{2}"),
        ("ä{{job}}ö", "änightlyö"),
    ] {
        assert_eq!(render(text, TemplatePlace::Text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn without_a_zone_local_times_are_in_utc() {
    let template = Template::parse(
        "{{occurrence:local}} {{occurrence:date}}",
        TemplatePlace::Text,
        &Placeholder::ALL,
    );
    assert_eq!(template.unwrap().render(None, &value), "2026-07-01T22:30:00+00:00 2026-07-01");
}

#[test]
fn a_value_is_escaped_for_its_place() {
    for (text, place, expected) in [
        ("{{cause}}", TemplatePlace::Text, "said \"no\" & 100 %\nstop"),
        ("?c={{cause}}", TemplatePlace::Url, "?c=said%20%22no%22%20%26%20100%20%25%0Astop"),
        ("/{{occurrence:local}}", TemplatePlace::Url, "/2026-07-02T00%3A30%3A00%2B02%3A00"),
        ("why: {{cause}}", TemplatePlace::Header, "why: said \"no\" & 100 %stop"),
        (r#"{"c":"{{cause}}"}"#, TemplatePlace::Json, r#"{"c":"said \"no\" & 100 %\nstop"}"#),
        (r#"{"c":{{cause}}}"#, TemplatePlace::Json, r#"{"c":"said \"no\" & 100 %\nstop"}"#),
        (r#"{"n":{{missed}},"t":"{{missed}}"}"#, TemplatePlace::Json, r#"{"n":2,"t":"2"}"#),
        (
            r"[{{occurrence}},{{occurrence:unix}}]",
            TemplatePlace::Json,
            r#"["2026-07-01T22:30:00Z",1782945000]"#,
        ),
        (r#"[{{lastSuccess}},"{{lastSuccess}}"]"#, TemplatePlace::Json, r#"[null,""]"#),
        (r#"["a\"{{job}}",{{job}}]"#, TemplatePlace::Json, r#"["a\"nightly","nightly"]"#),
        (r#"["a\\",{{job}}]"#, TemplatePlace::Json, r#"["a\\","nightly"]"#),
        (r#"{"a":{"b":{{missed}}}}"#, TemplatePlace::Json, r#"{"a":{"b":2}}"#),
    ] {
        assert_eq!(render(text, place).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn a_text_that_ends_with_a_quote_stays_one_string() {
    let template =
        Template::parse(r#"["{{cause}}"]"#, TemplatePlace::Json, &Placeholder::ALL).unwrap();
    let text = template.render(None, &|_| PlaceholderValue::Text("\"\\\""));
    assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), serde_json::json!(["\"\\\""]));
}

#[test]
fn wrong_names_are_refused_with_the_list() {
    for (text, says) in [
        (
            "{{occurence}}",
            "contains '{{occurence}}', which is not a name that it can use (is 'occurrence' meant?); the names are job, collection, occurrence, ",
        ),
        ("{{Job}}", "(is 'job' meant?)"),
        ("{{}}", "contains '{{}}', which is not a name"),
        ("{{cause}}", "contains '{{cause}}', which is not a name that it can use; the names are"),
        ("{{occurrence:day}}", "whose format does not exist; the formats are date, unix, local"),
        ("{{missed:unix}}", "contains '{{missed:unix}}', but only instants have formats"),
        ("{{job", "contains '{{' without '}}' after it; write '{{{{' for two braces"),
        ("{{{job}}}", "contains '{{{job}}', which is not a name that it can use (is 'job' meant?)"),
    ] {
        let error = Template::parse(text, TemplatePlace::Text, Placeholder::OF_ACTIONS)
            .unwrap_err()
            .to_string();
        assert!(error.contains(says), "{error}");
    }
    let long = format!("{{{{{}}}}}", "x".repeat(5_000));
    let error = Template::parse(&long, TemplatePlace::Text, Placeholder::OF_ACTIONS)
        .unwrap_err()
        .to_string();
    assert!(error.len() < 400, "{error}");
}

#[test]
fn a_name_is_found_in_any_text() {
    for (text, name) in [
        ("", None),
        ("{{", None),
        ("{{jobs}} {{ missed }}", Some(Placeholder::Missed)),
        ("a{{occurrence:nonsense}}", Some(Placeholder::Occurrence)),
        ("{{{{job}}", Some(Placeholder::Job)),
        ("{job}", None),
    ] {
        assert_eq!(name_in(text), name, "{text}");
    }
}

#[test]
fn a_template_tells_whether_it_is_constant() {
    let parse = |text| Template::parse(text, TemplatePlace::Url, &Placeholder::ALL).unwrap();
    assert!(parse("https://example.com/{{{{").is_constant());
    assert!(!parse("{{job}}").is_constant());
}
