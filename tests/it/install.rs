//! `make install` and `make uninstall`, into a directory that stands for the root.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

const PLACES: [&str; 5] = [
    "opt/it/bin/minutehand",
    "opt/it/lib/systemd/system/minutehand.service",
    "opt/it/share/bash-completion/completions/minutehand",
    "opt/it/share/zsh/site-functions/_minutehand",
    "opt/it/share/fish/vendor_completions.d/minutehand.fish",
];

fn make(target: &str, root: &Path) {
    let mut make = Command::new("make");
    make.args([target, "PREFIX=/opt/it", "BINARY=/bin/true"])
        .arg(format!("DESTDIR={}", root.display()))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let output = make.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn what_is_installed_can_be_uninstalled_and_settings_stay() {
    let root = tempfile::tempdir().unwrap();
    make("install", root.path());
    assert!(PLACES.iter().all(|place| root.path().join(place).exists()));
    let unit = fs::read_to_string(root.path().join(PLACES[1])).unwrap();
    assert!(unit.contains("\nExecStart=/opt/it/bin/minutehand serve "), "{unit}");
    let settings = root.path().join("etc/minutehand");
    assert_eq!(fs::metadata(&settings).unwrap().permissions().mode() & 0o777, 0o700);

    fs::write(settings.join("environment"), "").unwrap();
    make("uninstall", root.path());
    assert!(PLACES.iter().all(|place| !root.path().join(place).exists()));
    assert!(settings.join("environment").exists());

    make("install", root.path());
    fs::remove_file(settings.join("environment")).unwrap();
    make("uninstall", root.path());
    assert!(!settings.exists(), "an empty directory goes, too");
    // Without anything installed it succeeds, too.
    make("uninstall", root.path());
}
