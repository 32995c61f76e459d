//! Runs the fuzzer's corpus for `minutehand preview` as an ordinary test.

#[cfg(test)]
mod body;

#[cfg(test)]
mod corpus {
    use std::fs;
    use std::path::Path;

    use crate::body;

    #[test]
    fn every_input_of_the_corpus_has_the_properties() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut inputs = 0;
        for entry in fs::read_dir(root.join("shared/recurrence/fuzz/corpus/preview")).unwrap() {
            let path = entry.unwrap().path();
            // If the test fails, the last line printed names the input.
            println!("{}", path.display());
            body::check(&fs::read(path).unwrap());
            inputs += 1;
        }
        assert!(inputs > 50, "only {inputs} inputs");
    }
}
