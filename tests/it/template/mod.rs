//! `infra/template.yaml` beside the code: what stands in both has to be the same.

mod document;

mod numbers;
mod policies;
mod settings;
mod sources;
mod table;

use document::Template;
