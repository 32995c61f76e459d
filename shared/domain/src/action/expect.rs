//! The action type `Expect`: nothing is sent. Something else pings the scheduler at each occurrence, and a ping
//! that does not come is a failure.

use super::ActionType;
use super::texts::Text;
use crate::duration::Span;
use crate::json::Shape::{Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::ping_window::PingWindow;
use crate::refusal::Refusal;

const EARLY_DEFAULT: Span = Span::seconds(5 * 60);
const EARLY: [Span; 2] = [Span::seconds(0), Span::days(1)];
const GRACE_DEFAULT: Span = Span::seconds(10 * 60);
const GRACE: [Span; 2] = [Span::seconds(1), Span::days(1)];

/// The pings that a job expects, as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect {
    /// How long before its instant an occurrence may be paid.
    pub early: Option<Span>,
    /// How long after its instant an occurrence may be paid, and after a start.
    pub grace: Option<Span>,
}

impl Expect {
    /// The times around an instant, with the defaults of what was not sent.
    #[must_use]
    pub fn window(&self) -> PingWindow {
        PingWindow {
            early: self.early.unwrap_or(EARLY_DEFAULT),
            grace: self.grace.unwrap_or(GRACE_DEFAULT),
        }
    }
}

impl ActionType for Expect {
    type Payload = Self;
    const TYPE: &'static str = "Expect";
    const PROPERTY: &'static str = "expect";
    const SHAPE: Shape = Object(&[("early", Leaf), ("grace", Leaf)]);
    const CONTENT: Option<&'static str> = None;

    fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            early: fields.bounded_span("early", EARLY)?,
            grace: fields.bounded_span("grace", GRACE)?,
        })
    }

    fn check(_expect: &Self, _fields: &Fields<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    fn write(expect: &Self) -> ObjectBuilder {
        ObjectBuilder::default().duration("early", expect.early).duration("grace", expect.grace)
    }

    fn texts(_expect: &mut Self) -> Vec<Text<'_>> {
        Vec::new()
    }

    fn set_event(_expect: &mut Self, _event: String) {}

    fn failure(_expect: &Self, what: &str, why: &str) -> String {
        format!("Expect Action - Waiting for a ping failed: {what} {why}")
    }
}
