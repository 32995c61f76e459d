//! The store as the services rely on it, behaviour by behaviour: `minutehand_testkit::conformance` on
//! the DynamoDB in the process, or on the one that `MINUTEHAND_DYNAMODB_ENDPOINT` names.

#[cfg(test)]
mod back_end;

#[cfg(test)]
mod dynamodb {
    minutehand_testkit::conformance!(crate::back_end::Dynamo);
}
