/// One page of a list.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// Its items, in order.
    pub items: Vec<T>,
    /// Where the next page begins; `None` on the last.
    pub next: Option<String>,
}

/// Which page of a list to read.
#[derive(Debug, Clone)]
pub struct PageRequest {
    /// Where the page begins; `None` for the first page.
    pub from: Option<String>,
    /// The most items the page may hold.
    pub items_max: u32,
}
