//! The README shows the same client code that the client tests run.

/// The test file of each client. Two marks enclose the lines that connect the client to Minutehand.
const CLIENTS: [(&str, &str); 3] = [
    ("azure-mgmt-scheduler 2.0.0", include_str!("../clients/python/connect_2_0_0.py")),
    ("azure-mgmt-scheduler 7.0.0", include_str!("../clients/python/connect_7_0_0.py")),
    ("azure-arm-scheduler 1.2.0-preview", include_str!("../clients/node/connect.js")),
];

#[test]
fn the_readme_connects_clients_like_their_tests() {
    let readme = include_str!("../../README.md");
    for (client, file) in CLIENTS {
        let shown = between_marks(client, file);
        assert!(
            readme.contains(&shown),
            "README.md does not contain the lines for {client}:\n{shown}"
        );
    }
}

/// The lines between the marks, without their common indentation.
fn between_marks(client: &str, file: &str) -> String {
    let mark = format!("README: {client}");
    let lines = file.lines().skip_while(|line| !line.ends_with(&mark)).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| !line.ends_with("README: end")).collect();
    assert!(!lines.is_empty(), "there are no marks for {client}");
    let indent_of = |line: &&str| line.len() - line.trim_start().len();
    let indent = lines.iter().filter(|line| !line.is_empty()).map(indent_of).min().unwrap_or(0);
    let lines: Vec<&str> = lines.iter().map(|line| line.get(indent..).unwrap_or("")).collect();
    lines.join("\n")
}
