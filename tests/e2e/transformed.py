"""The template as AWS sees it: after SAM's transform, with the values of parameters put in.

The emulator has no auto scaling, VPC or recursion guard, so the checks here read what AWS would create with
each value of a parameter, and what it would not.
"""

import boto3
import cfnlint.decode
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

ABSENT = {"Ref": "AWS::NoValue"}
NETWORK = {"SubnetIds": "subnet-1,subnet-2", "SecurityGroupIds": "sg-1", "Targets": "private"}
KEY = "arn:aws:kms:eu-west-1:123456789012:key/k"
QUEUE = "arn:aws:sqs:eu-west-1:123456789012:reports"


class Transformed:
    """The resources that exist with these parameters, without what has no value."""

    def __init__(self, path, **given):
        template, problems = cfnlint.decode.decode(str(path))
        assert not problems, problems
        declared = template["Parameters"]
        unknown = set(given) - set(declared)
        assert not unknown, f"the template has no parameters {unknown}"
        self.values = {name: it.get("Default", "") for name, it in declared.items()} | given
        for name, resource in template["Resources"].items():
            if resource["Type"] == "AWS::Serverless::Function":
                resource["Properties"]["CodeUri"] = f"s3://bucket/{name}"
        # The values are put in afterwards, as CloudFormation does.
        session = boto3.Session(region_name="us-east-1")
        translated = Translator({}, Parser(), boto_session=session).translate(plain(template), {})
        self.conditions = translated["Conditions"]
        self.resources = {
            name: self.value(resource.get("Properties", {}))
            for name, resource in translated["Resources"].items()
            if self.holds(resource.get("Condition"))
        }

    def holds(self, condition):
        return condition is None or self.truth(self.conditions[condition])

    def truth(self, test):
        [(function, arguments)] = test.items()
        match function:
            case "Condition":
                return self.holds(arguments)
            case "Fn::Not":
                return not self.truth(arguments[0])
            case "Fn::And":
                return all(map(self.truth, arguments))
            case "Fn::Or":
                return any(map(self.truth, arguments))
            case "Fn::Equals":
                left, right = (self.value(argument) for argument in arguments)
                return str(left) == str(right)
        raise AssertionError(f"{function} is not known here")

    def value(self, node):
        if isinstance(node, list):
            values = (self.value(item) for item in node)
            return [value for value in values if value != ABSENT]
        if not isinstance(node, dict):
            return node
        if list(node) == ["Ref"]:
            return self.values.get(node["Ref"], node)
        if list(node) == ["Fn::If"]:
            condition, chosen, other = node["Fn::If"]
            return self.value(chosen if self.holds(condition) else other)
        if list(node) == ["Fn::Split"]:
            separator, text = node["Fn::Split"]
            text = self.value(text)
            return text.split(separator) if isinstance(text, str) else node
        values = {key: self.value(item) for key, item in node.items()}
        return {key: value for key, value in values.items() if value != ABSENT}


def plain(node):
    """The nodes of cfn-lint as they would be read from JSON."""
    if isinstance(node, dict):
        return {str(key): plain(item) for key, item in node.items()}
    if isinstance(node, list):
        return [plain(item) for item in node]
    return str(node) if isinstance(node, str) else node


def checks(path):
    """Runs the checks, and yields one line per result."""
    plainly = Transformed(path)
    functions = ["ApiFunction", "SweeperFunction", "ExecutorFunction"]

    table = plainly.resources["Table"]
    assert table["BillingMode"] == "PAY_PER_REQUEST", table["BillingMode"]
    assert "ProvisionedThroughput" not in table, table
    assert "ProvisionedThroughput" not in table["GlobalSecondaryIndexes"][0], table
    fixed = Transformed(path, Capacity="provisioned", TableWriteUnits=40)
    table = fixed.resources["Table"]
    assert table["BillingMode"] == "PROVISIONED", table
    assert table["ProvisionedThroughput"] == {"ReadCapacityUnits": 20, "WriteCapacityUnits": 40}, table
    index = table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]
    assert index == {"ReadCapacityUnits": 5, "WriteCapacityUnits": 3}, index
    yield "Capacity: units for the table and its index, or none"

    units = ["TableReads", "TableWrites", "IndexReads", "IndexWrites"]
    scaling = {f"{unit}{part}" for unit in units for part in ["Scale", "Policy"]}
    for without in [plainly, fixed, Transformed(path, AutoScalingUnitsMax=100)]:
        assert not scaling & set(without.resources), set(without.resources)
    scaled = Transformed(path, Capacity="provisioned", AutoScalingUnitsMax=100)
    assert scaling <= set(scaled.resources), scaling - set(scaled.resources)
    target = scaled.resources["IndexWritesScale"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (3, 100), target
    yield "AutoScalingUnitsMax: four scales of a provisioned table, or none"

    executor = plainly.resources["ExecutorFunction"]
    assert executor["RecursiveLoop"] == "Allow", executor
    assert "VpcConfig" not in executor, executor
    placed = Transformed(path, **NETWORK).resources
    network = placed["ExecutorFunction"]["VpcConfig"]
    assert network == {"SubnetIds": ["subnet-1", "subnet-2"], "SecurityGroupIds": ["sg-1"]}, network
    assert placed["ExecutorRole"]["ManagedPolicyArns"], "the executor may not connect to the network"
    assert not any("VpcConfig" in placed[name] for name in functions[:2]), "only the executor is in the network"
    yield "SubnetIds: the executor in the network, or no function"

    reserved = "ReservedConcurrentExecutions"
    assert not any(reserved in plainly.resources[name] for name in functions)
    kept = Transformed(path, ReserveForSweeper=2).resources
    assert kept["SweeperFunction"][reserved] == 2, kept["SweeperFunction"]
    assert not any(reserved in kept[name] for name in ["ApiFunction", "ExecutorFunction"])
    yield "ReserveForSweeper: executions of the sweeper, or of no function"

    actions = {"ActionsRole", "ActionsPolicy", "AssumeActionsRole"}
    assert not actions & set(plainly.resources)
    variables = executor["Environment"]["Variables"]
    assert "MINUTEHAND_ACTIONS_ROLE" not in variables, variables
    sends = Transformed(path, ActionArns=QUEUE).resources
    assert actions <= set(sends), actions - set(sends)
    assert "MINUTEHAND_ACTIONS_ROLE" in sends["ExecutorFunction"]["Environment"]["Variables"]
    allowed = sends["ActionsPolicy"]["PolicyDocument"]["Statement"][0]["Resource"]
    assert allowed == [QUEUE], allowed
    yield "ActionArns: a role for actions, or none"

    logs = ["ApiLog", "SweeperLog", "ExecutorLog", "AccessLog"]
    assert "SSESpecification" not in plainly.resources["Table"]
    assert not any("KmsKeyId" in plainly.resources[name] for name in logs)
    keyed = Transformed(path, DataKeyArn=KEY).resources
    expected = {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
    assert keyed["Table"]["SSESpecification"] == expected, keyed["Table"]
    assert {keyed[name]["KmsKeyId"] for name in logs} == {KEY}
    yield "DataKeyArn: a key for the table and every log, or none"

    levels = {plainly.resources[name]["LoggingConfig"]["SystemLogLevel"] for name in functions}
    assert levels == {"WARN"}, levels
    told = Transformed(path, SystemLogLevel="INFO").resources
    assert {told[name]["LoggingConfig"]["SystemLogLevel"] for name in functions} == {"INFO"}
    yield "SystemLogLevel: of every function"

    deliveries = plainly.resources["Deliveries"]
    assert not {"ScalingConfig", "ProvisionedPollerConfig"} & set(deliveries), deliveries
    limited = Transformed(path, ExecutorConcurrencyMax=7).resources["Deliveries"]
    assert limited["ScalingConfig"] == {"MaximumConcurrency": 7}, limited
    polled = Transformed(path, ExecutorPollersMin=2).resources["Deliveries"]
    assert polled["ProvisionedPollerConfig"] == {"MinimumPollers": 2, "MaximumPollers": 200}, polled
    yield "ExecutorConcurrencyMax, ExecutorPollersMin: a limit, pollers, or neither"

    assert "WarmThroughput" not in plainly.resources["Table"]
    warm = Transformed(path, WarmWriteUnits="12000").resources["Table"]
    expected = {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": "12000"}
    for place in [warm, warm["GlobalSecondaryIndexes"][0]]:
        assert place["WarmThroughput"] == expected, place
    assert not {"Key", "Board", "AlarmTopic", "AlarmTopicPolicy"} & set(
        Transformed(path, KeyArn=KEY).resources
    )
    assert {"Board", "AlarmTopic", "AlarmTopicPolicy"} <= set(
        Transformed(path, Dashboard="yes", AlarmEmail="you@example.org").resources
    )
    yield "WarmWriteUnits, KeyArn, Dashboard, AlarmEmail: as given, or nothing"
