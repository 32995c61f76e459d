//! What the fuzzer found worth keeping, as an ordinary test.

#[cfg(test)]
mod body;

#[cfg(test)]
mod corpus {
    use std::fs;
    use std::path::Path;

    use crate::body;

    #[test]
    fn no_input_of_the_corpus_breaks_a_promise() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/recurrence");
        let mut inputs = 0;
        for entry in fs::read_dir(corpus).unwrap() {
            let path = entry.unwrap().path();
            // The name of an input that breaks one is the last line printed.
            println!("{}", path.display());
            body::check(&fs::read(path).unwrap());
            inputs += 1;
        }
        assert!(inputs > 50, "only {inputs} inputs");
    }
}
