//! What the fuzzer found worth keeping for `minutehand preview`, as an ordinary test.

#[cfg(test)]
mod body;

#[cfg(test)]
mod corpus {
    use std::fs;
    use std::path::Path;

    use crate::body;

    #[test]
    fn no_job_of_the_corpus_breaks_a_promise() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut inputs = 0;
        for entry in fs::read_dir(root.join("shared/recurrence/fuzz/corpus/preview")).unwrap() {
            let path = entry.unwrap().path();
            // The name of an input that breaks one is the last line printed.
            println!("{}", path.display());
            body::check(&fs::read(path).unwrap());
            inputs += 1;
        }
        assert!(inputs > 50, "only {inputs} inputs");
    }
}
