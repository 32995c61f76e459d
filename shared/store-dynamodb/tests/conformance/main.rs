//! The store as the services rely on it, behaviour by behaviour: `minutehand_testkit::conformance` on
//! the DynamoDB in the process, in both ways to perform a group, or on the one that
//! `MINUTEHAND_DYNAMODB_ENDPOINT` names.

#[cfg(test)]
mod back_end;

#[cfg(test)]
mod transactions {
    minutehand_testkit::conformance!(crate::back_end::Dynamo::TRANSACTIONS);
}

#[cfg(test)]
mod single_writes {
    minutehand_testkit::conformance!(crate::back_end::Dynamo::SINGLE_WRITES);
}
