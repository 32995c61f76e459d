//! What the documents ask in SQL can be asked.

use rusqlite::{Connection, OpenFlags};

use crate::world::{DATABASE, Running};

const PAGE: &str = include_str!("../../../docs/one-machine.md");

#[tokio::test]
async fn every_question_of_the_page_has_an_answer_beside_a_running_server() {
    let (_, questions) = PAGE.split_once("```sql\n").unwrap();
    let (questions, _) = questions.split_once("```").unwrap();
    let questions: Vec<&str> =
        questions.split_terminator(';').filter(|it| !it.trim().is_empty()).collect();
    assert_eq!(questions.len(), 4, "{questions:?}");
    let running = Running::start();
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Connection::open_with_flags(running.path(DATABASE), read_only).unwrap();
    for question in questions {
        let mut asked =
            connection.prepare(question).unwrap_or_else(|error| panic!("{question}: {error}"));
        assert!(asked.readonly(), "{question}");
        asked.raw_query().next().unwrap();
    }
}
