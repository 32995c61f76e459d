//! What the README shows is what is tested.

/// Each client's file, in which the lines that point it at us stand between two marks.
const CLIENTS: [(&str, &str); 3] = [
    ("azure-mgmt-scheduler 2.0.0", include_str!("../clients/python/connect_2_0_0.py")),
    ("azure-mgmt-scheduler 7.0.0", include_str!("../clients/python/connect_7_0_0.py")),
    ("azure-arm-scheduler 1.2.0-preview", include_str!("../clients/node/connect.js")),
];

#[test]
fn the_readme_points_clients_at_us_as_their_tests_do() {
    let readme = include_str!("../../README.md");
    for (client, file) in CLIENTS {
        let shown = between_marks(client, file);
        assert!(readme.contains(&shown), "README.md shows other lines for {client} than\n{shown}");
    }
}

/// The lines between the marks, indented as little as can be.
fn between_marks(client: &str, file: &str) -> String {
    let mark = format!("README: {client}");
    let lines = file.lines().skip_while(|line| !line.ends_with(&mark)).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| !line.ends_with("README: end")).collect();
    assert!(!lines.is_empty(), "nothing is marked for {client}");
    let indent_of = |line: &&str| line.len() - line.trim_start().len();
    let indent = lines.iter().filter(|line| !line.is_empty()).map(indent_of).min().unwrap_or(0);
    let lines: Vec<&str> = lines.iter().map(|line| line.get(indent..).unwrap_or("")).collect();
    lines.join("\n")
}
