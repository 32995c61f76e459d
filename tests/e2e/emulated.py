"""ministack, with some of what AWS does and ministack does not.

It accepts alarms with an expression, and takes them for alarms on the first metric. A limit of
executions may be text, as parameters of a template are. If EMULATOR_IS_SLOW is true, an operator also meets this:

- A restored table and a new copy of a table are in the state CREATING for a while. Until then AWS refuses
  everything but to describe it. A deleted table is in the state DELETING for a while.
- Each function has old versions already, so that a list of its versions has two pages.

A while is a number of looks, so that no test waits.
"""

import copy
import json
import os

import ministack.services.cloudformation.provisioners as provisioners
import ministack.services.dynamodb as dynamodb
import ministack.services.lambda_svc as functions
from ministack.app import main

# How often a table is described until it has changed its state.
LOOKS = 3
# AWS lists 50 versions at a time.
OLD_VERSIONS = 60

# The looks that are left, by region, table and what goes on.
pending = {}


def begins(what, name):
    pending[dynamodb.get_region(), name, what] = LOOKS


def goes_on(what, name, is_look=False):
    """Whether it still goes on."""
    at = (dynamodb.get_region(), name, what)
    if is_look and pending.get(at):
        pending[at] -= 1
    return pending.get(at, 0) > 0


def after_success(begin):
    """Replaces a call by one that begins something if it succeeds."""

    def decorate(call):
        def instead(data):
            answer = call(data)
            if answer[0] == 200:
                begin(data)
            return answer

        return instead

    return decorate


def has_copied(data):
    if any("Create" in it for it in data.get("ReplicaUpdates", [])):
        begins("copying", data["TableName"])


def describe_table(data):
    name = data["TableName"]
    if goes_on("deleting", name, is_look=True):
        return dynamodb.json_response({"Table": {"TableName": name, "TableStatus": "DELETING"}})
    status, headers, body = plain_describe_table(data)
    table = json.loads(body).get("Table")
    if table is None:
        return status, headers, body
    if goes_on("restoring", name, is_look=True):
        table["TableStatus"] = "CREATING"
    if goes_on("copying", name, is_look=True):
        for replica in table["Replicas"]:
            replica["ReplicaStatus"] = "CREATING"
    return dynamodb.json_response({"Table": table})


async def handle_request(method, path, headers, body, query_params):
    data = json.loads(body or b"{}")
    action = headers.get("x-amz-target", "").split(".")[-1]
    names = [data.get(it) for it in ["TableName", "TargetTableName"]]
    is_busy = any(name and goes_on(what, name) for name in names for what in ["deleting", "restoring"])
    if is_busy and not action.startswith("Describe"):
        return dynamodb.error_response_json("ResourceInUseException", f"{names} in use by {action}", 400)
    return await plain_handle_request(method, path, headers, body, query_params)


def publish_version(name, data):
    function = functions._functions.get(name)
    if function and not function["versions"]:
        for version in map(str, range(1, OLD_VERSIONS + 1)):
            config = {**copy.deepcopy(function["config"]), "Version": version, "Description": "long ago"}
            function["versions"][version] = {"config": config, "code_zip": function.get("code_zip")}
        function["next_version"] = OLD_VERSIONS + 1
    return plain_publish_version(name, data)


def alarm_record(name, properties):
    """The record of an alarm. `alarms.py` evaluates expressions."""
    if properties.get("Metrics"):
        first = properties["Metrics"][0]["MetricStat"]
        metric = {**first["Metric"], "Statistic": first["Stat"], "Period": first["Period"]}
        properties = {**properties, **metric, "Metrics": None}
    return plain_alarm_record(name, properties)


def executions_at_once(mapping, *others):
    scaling = {name: int(value) for name, value in mapping.get("ScalingConfig", {}).items()}
    return plain_executions_at_once({**mapping, "ScalingConfig": scaling}, *others)


def slow_down():
    for restore in ["_restore_table_from_backup", "_restore_table_to_point_in_time"]:
        begin = after_success(lambda data: begins("restoring", data["TargetTableName"]))
        setattr(dynamodb, restore, begin(getattr(dynamodb, restore)))
    deletes = after_success(lambda data: begins("deleting", data["TableName"]))
    dynamodb._delete_table = deletes(dynamodb._delete_table)
    dynamodb._update_table = after_success(has_copied)(dynamodb._update_table)
    dynamodb._describe_table = describe_table
    dynamodb.handle_request = handle_request
    functions._publish_version = publish_version


plain_describe_table = dynamodb._describe_table
plain_handle_request = dynamodb.handle_request
plain_publish_version = functions._publish_version
plain_alarm_record = provisioners._cw_metric_alarm_record
provisioners._cw_metric_alarm_record = alarm_record
plain_executions_at_once = functions._sqs_esm_concurrency
functions._sqs_esm_concurrency = executions_at_once
if os.environ.get("EMULATOR_IS_SLOW") == "true":
    slow_down()

if __name__ == "__main__":
    main()
