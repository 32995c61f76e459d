//! The settings that functions read and the metrics that they print, compared with the template.

use std::collections::BTreeSet;

use minutehand_runtime_aws::{Metric, NAMESPACE, PREFIX, TABLE_DIMENSION, Variables};
use serde_json::Value;

use super::Template;

#[test]
fn the_template_sets_exactly_the_variables_that_each_function_reads() {
    let template = Template::read();
    for (resource, read) in [
        ("ApiFunction", variables_of(minutehand_api::ApiSettings::read)),
        ("SweeperFunction", variables_of(minutehand_sweeper::SweeperSettings::read)),
        ("ExecutorFunction", variables_of(minutehand_executor::ExecutorSettings::read)),
        ("ArchiverFunction", variables_of(minutehand_archiver::ArchiverSettings::read)),
    ] {
        let given = template.environment(resource);
        assert_eq!(given, read.iter().copied().collect(), "left: {resource} in the template");
        assert!(given.iter().all(|name| name.starts_with(PREFIX)), "{given:?}");
    }
}

/// The variables that a function reads: its own, and the log level.
fn variables_of<S>(read: impl FnOnce(&mut Variables) -> S) -> Vec<&'static str> {
    let mut variables = Variables::of([("", "")]);
    variables.log_level();
    read(&mut variables);
    variables.asked()
}

#[test]
fn alarms_and_dashboard_use_existing_metrics() {
    let template = Template::read();
    let known: BTreeSet<&str> = Metric::published().collect();
    let named = template.metrics(NAMESPACE);
    assert!(named.len() > 4, "{named:?}");
    for (name, dimension) in named {
        assert!(known.contains(name.as_str()), "{name} is not one of {known:?}");
        assert_eq!(dimension, TABLE_DIMENSION, "{name}");
    }
}

impl Template {
    /// The variables of a function, including those of all functions.
    fn environment(&self, function: &str) -> BTreeSet<&str> {
        let own = self.properties(function).pointer("/Environment/Variables");
        let shared = self.globals("Function").pointer("/Environment/Variables");
        let variables = own.into_iter().chain(shared).filter_map(Value::as_object);
        variables.flat_map(|variables| variables.keys().map(String::as_str)).collect()
    }

    /// The metrics of a namespace in alarms and on the dashboard, with their dimensions.
    fn metrics(&self, namespace: &str) -> Vec<(String, String)> {
        let alarms = self.resource_names("AWS::CloudWatch::Alarm").into_iter();
        let alarms = alarms
            .flat_map(|name| self.alarm_metrics(name))
            .filter(|alarm| alarm["Namespace"] == namespace)
            .map(|alarm| (text(&alarm["MetricName"]), text(&alarm["Dimensions"][0]["Name"])));
        let board = text(&self.properties("Board")["DashboardBody"]["Fn::Sub"]);
        let board: Value = serde_json::from_str(&board).expect("the dashboard is JSON");
        let widgets = board["widgets"].as_array().unwrap().iter();
        let lines = widgets.flat_map(|widget| widget["properties"]["metrics"].as_array().unwrap());
        let lines = lines.filter(|line| line[0] == namespace);
        alarms.chain(lines.map(|line| (text(&line[1]), text(&line[2])))).collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a string")).to_owned()
}
