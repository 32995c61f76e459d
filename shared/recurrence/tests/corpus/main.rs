//! Runs the inputs that the fuzzer has collected as an ordinary test.

#[cfg(test)]
mod body;

#[cfg(test)]
mod corpus {
    use std::fs;
    use std::path::Path;

    use crate::body;

    #[test]
    fn every_input_of_the_corpus_passes_the_checks() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/recurrence");
        let mut inputs = 0;
        for entry in fs::read_dir(corpus).unwrap() {
            let path = entry.unwrap().path();
            // If an input fails, its name is the last line in the output.
            println!("{}", path.display());
            body::check(&fs::read(path).unwrap());
            inputs += 1;
        }
        assert!(inputs > 50, "only {inputs} inputs");
    }
}
