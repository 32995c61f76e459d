//! The store as the services rely on it, behaviour by behaviour: `minutehand_testkit::conformance` on the
//! embedded store, or on the DynamoDB that `MINUTEHAND_DYNAMODB_ENDPOINT` names.

mod back_end;

minutehand_testkit::conformance!(crate::conformance::back_end::subject);
