//! Lists: `{"items":[…],"position":…,"lookedAt":n}`.

use serde_json::{Value, json};

use crate::query::write_position;

/// A page of a list. `looked_at` counts what was read for it, which a filter may have left out.
pub(crate) fn page(items: &[Value], next: Option<&str>, looked_at: usize) -> Value {
    json!({
        "items": items,
        "position": next.map(write_position),
        "lookedAt": looked_at,
    })
}
