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
BOUNDARY = "arn:aws:iam::123456789012:policy/boundary"
DOMAIN = {
    "DomainName": "jobs.example.org",
    "CertificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/c",
}
TRUSTSTORE = "s3://bucket/authorities.pem"


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
        self.conditions, self.mappings = translated["Conditions"], plain(template["Mappings"])
        exist = {
            name: resource
            for name, resource in translated["Resources"].items()
            if self.holds(resource.get("Condition"))
        }
        self.types = {name: resource["Type"] for name, resource in exist.items()}
        self.resources = {
            name: self.value(resource.get("Properties", {})) for name, resource in exist.items()
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
        if list(node) == ["Fn::FindInMap"]:
            name, *keys = (self.value(it) for it in node["Fn::FindInMap"])
            found = self.mappings[name]
            for key in keys:
                found = found[str(key)]
            return found
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

    for count in [1, 2, 3, 5]:
        targets = Transformed(path, Sweepers=count).resources["Tick"]["Targets"]
        parts = [target["InputTransformer"]["InputTemplate"]["Fn::Sub"] for target in targets]
        assert parts == [f'{{"part":{part},"of":${{Sweepers}},"at":<at>}}' for part in range(count)], parts
        assert len({target["Id"] for target in targets}) == count, targets
    yield "Sweepers: the tick has so many targets, each for its part"

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
    assert deliveries["ScalingConfig"] == {"MaximumConcurrency": 200}, deliveries
    ways = ["ScalingConfig", "ProvisionedPollerConfig"]
    for size, most, expected in [
        ("small", 0, {}),
        ("medium", 0, {}),
        ("large", 0, {"ProvisionedPollerConfig": {"MinimumPollers": 20, "MaximumPollers": 200}}),
        ("small", 7, {"ScalingConfig": {"MaximumConcurrency": 7}}),
        ("large", 7, {"ProvisionedPollerConfig": {"MinimumPollers": 20, "MaximumPollers": 200}}),
    ]:
        found = Transformed(path, Size=size, ExecutorConcurrencyMax=most).resources["Deliveries"]
        assert {way: found[way] for way in ways if way in found} == expected, (size, most, found)
    yield "ExecutorConcurrencyMax, Size: a limit, pollers, or neither"

    memories = {"small": [256, 256, 128, 256], "medium": [512, 512, 128, 512], "large": [1024, 1769, 256, 1769]}
    for size, expected in memories.items():
        sized = Transformed(path, Size=size, Archive="yes").resources
        found = [sized[name]["MemorySize"] for name in [*functions, "ArchiverFunction"]]
        assert found == expected, (size, found)
        units = {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 12000} if size == "large" else None
        for place in [sized["Table"], sized["Table"]["GlobalSecondaryIndexes"][0]]:
            assert place.get("WarmThroughput") == units, place
    yield "Size: the memory of the functions, and units that are ready"

    assert not {"Key", "Board", "AlarmTopic", "AlarmTopicPolicy"} & set(
        Transformed(path, KeyArn=KEY).resources
    )
    assert {"Board", "AlarmTopic", "AlarmTopicPolicy"} <= set(
        Transformed(path, Dashboard="yes", AlarmEmail="you@example.org").resources
    )
    yield "KeyArn, Dashboard, AlarmEmail: as given, or nothing"

    told = Transformed(path, Events="yes").resources
    for name in ["SweeperFunction", "ExecutorFunction"]:
        buses = [it[name]["Environment"]["Variables"].get("MINUTEHAND_EVENT_BUS") for it in [plainly.resources, told]]
        assert buses == [None, {"Ref": "EventBus"}], (name, buses)
    yield "Events: two functions know the bus, or none"

    yield from versions(path, plainly)
    yield from standby(path, plainly)
    yield from address(path, plainly)
    yield from organisation(path, plainly)
    yield from archive(path, plainly)


def versions(path, plainly):
    """Release."""
    functions = {"Api": "ApiFunction", "Sweeper": "SweeperFunction", "Executor": "ExecutorFunction"}
    parts = {f"{name}{part}" for name in functions for part in ["Version", "Live"]}
    callers = {
        "Api": [("Integration", "IntegrationUri"), ("ApiPermission", "FunctionName")],
        "Sweeper": [("Tick", "Targets"), ("TickPermission", "FunctionName")],
        "Executor": [("Deliveries", "FunctionName")],
    }
    released = Transformed(path, Release="r1")
    assert not (parts | {"SweeperLiveInvokes"}) & set(plainly.resources)
    assert parts | {"SweeperLiveInvokes"} <= set(released.resources)
    for name, places in callers.items():
        for resource, member in places:
            called = str(plainly.resources[resource][member]) + str(released.resources[resource][member])
            assert f"{functions[name]}'" in called and f"'Ref': '{name}Live'" in called, called
            assert f"{name}Live" not in str(plainly.resources[resource]), resource
            assert functions[name] not in str(released.resources[resource]), resource
    # A version of an unchanged function is refused, so each release changes the functions.
    for name, function in functions.items():
        assert released.resources[f"{name}Version"]["Description"] == "r1"
        description = released.resources[function]["Description"]["Fn::Sub"]
        assert description.endswith("${Release}"), description
    invokes = ["MaximumRetryAttempts", "MaximumEventAgeInSeconds"]
    latest, live = (
        released.resources[name] for name in ["SweeperFunctionEventInvokeConfig", "SweeperLiveInvokes"]
    )
    assert [latest[it] for it in invokes] == [live[it] for it in invokes], live
    yield "Release: every caller of a function uses its alias, or none does"



def standby(path, plainly):
    """Active, TableName."""
    waits = Transformed(path, Active="no").resources
    for resources, is_active in [(plainly.resources, True), (waits, False)]:
        assert resources["Tick"]["State"] == ("ENABLED" if is_active else "DISABLED")
        assert resources["Deliveries"]["Enabled"] is is_active
        reserved = resources["ApiFunction"].get("ReservedConcurrentExecutions")
        assert reserved == (None if is_active else 0), reserved
    lacks = set(plainly.resources) - set(waits)
    assert lacks == {"NoSweepAlarm", "NoDeliveryAlarm"}, f"a standby lacks {lacks}"
    assert set(waits) <= set(plainly.resources), "a standby has more"
    yield "Active: tick, deliveries and API, or none of them"

    assert "TableName" not in plainly.resources["Table"]
    assert Transformed(path, TableName="jobs").resources["Table"]["TableName"] == "jobs"
    yield "TableName: as given, or as AWS makes it"


def address(path, plainly):
    """DomainName, CertificateArn, HostedZoneId, TruststoreUri, DefaultAddress."""
    domain = {"Domain", "DomainMapping"}
    assert not (domain | {"DomainRecord"}) & set(plainly.resources)
    assert plainly.resources["HttpApi"]["DisableExecuteApiEndpoint"] is False
    named = Transformed(path, **DOMAIN).resources
    assert domain <= set(named) and "DomainRecord" not in named
    assert named["HttpApi"]["DisableExecuteApiEndpoint"] is False
    assert "MutualTlsAuthentication" not in named["Domain"], named["Domain"]
    assert named["Domain"]["DomainName"] == DOMAIN["DomainName"], named["Domain"]
    configured = named["Domain"]["DomainNameConfigurations"][0]
    assert configured["CertificateArn"] == DOMAIN["CertificateArn"], configured
    zone = Transformed(path, **DOMAIN, HostedZoneId="Z1").resources["DomainRecord"]
    assert (zone["HostedZoneId"], zone["Name"]) == ("Z1", DOMAIN["DomainName"]), zone
    closed = Transformed(path, **DOMAIN, DefaultAddress="closed").resources["HttpApi"]
    assert closed["DisableExecuteApiEndpoint"] is True, closed
    # The address that AWS gives would let in clients without a certificate.
    mutual = Transformed(path, **DOMAIN, TruststoreUri=TRUSTSTORE).resources
    stored = mutual["Domain"]["MutualTlsAuthentication"]
    assert stored == {"TruststoreUri": TRUSTSTORE}, stored
    assert mutual["HttpApi"]["DisableExecuteApiEndpoint"] is True
    yield "DomainName, TruststoreUri: a domain, with certificates of clients and one address only, or neither"


def archive(path, plainly):
    """Archive, ArchiveDays."""
    kept = Transformed(path, Archive="yes")
    added = set(kept.resources) - set(plainly.resources)
    parts = {"ArchiveBucket", "ArchiveTransport", "ArchiverFunction", "ArchiverLog", "ArchiverRole", "Archiving"}
    parts |= {"Sorting", "SortingPermission", "DailyBackup", "DailyBackupPermission", "DailyBackupPolicy"}
    parts |= {"ApiArchivePolicy", "ApiBodiesPolicy", "ArchiverErrorsAlarm", "ArchiveAgeAlarm", "NoArchivingAlarm"}
    assert added == parts, added
    # Nothing else is different but the stream, and what the others are told.
    changed = {name for name, it in plainly.resources.items() if kept.resources[name] != it}
    assert changed == {"Table", "ApiFunction", "ExecutorFunction"}, changed
    assert "StreamSpecification" not in plainly.resources["Table"]
    assert kept.resources["Table"].pop("StreamSpecification") == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert kept.resources["Table"] == plainly.resources["Table"]
    variables = [it.resources["ApiFunction"]["Environment"]["Variables"] for it in (plainly, kept)]
    assert set(variables[1]) - set(variables[0]) == {"MINUTEHAND_ARCHIVE"}, variables
    rules = kept.resources["ArchiveBucket"]["LifecycleConfiguration"]["Rules"]
    assert [rule["Id"] for rule in rules] == ["leftovers", "bodies"], rules
    rules = Transformed(path, Archive="yes", ArchiveDays=400).resources["ArchiveBucket"]["LifecycleConfiguration"]
    assert [rule.get("ExpirationInDays") for rule in rules["Rules"]] == [None, 400, 60], rules
    keyed = Transformed(path, Archive="yes", DataKeyArn=KEY).resources
    assert set(keyed) - set(kept.resources) == {"ArchiverKeyPolicy", "ApiArchiveKeyPolicy"}
    encryption = keyed["ArchiveBucket"]["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]
    assert encryption["ServerSideEncryptionByDefault"]["KMSMasterKeyID"] == KEY, encryption
    released = Transformed(path, Archive="yes", Release="r1").resources
    assert {"ArchiverVersion", "ArchiverLive"} <= set(released)
    assert "ArchiverLive" in str(released["Archiving"]["FunctionName"]), released["Archiving"]
    assert not {"ArchiverVersion", "ArchiverLive"} & set(Transformed(path, Release="r1").resources)
    yield "Archive, ArchiveDays: a stream, a function and a bucket, or nothing of them"
    without = Transformed(path, Archive="yes", BackupsKept=0).resources
    assert set(kept.resources) - set(without) == {"DailyBackup", "DailyBackupPermission", "DailyBackupPolicy"}
    archivers = [it["ArchiverFunction"]["Environment"]["Variables"] for it in (kept.resources, without)]
    assert [int(it["MINUTEHAND_BACKUPS_KEPT"]) for it in archivers] == [35, 0], archivers
    assert set(Transformed(path, BackupsKept=7).resources) == set(plainly.resources)
    yield "BackupsKept: a schedule and what it may do, or nothing"
    moving = Transformed(path, Archive="yes", Moving="yes", KeyArn=KEY).resources
    unmoved = Transformed(path, Archive="yes", KeyArn=KEY).resources
    assert set(moving) - set(unmoved) == {"MovingPolicy"}
    archivers = [it["ArchiverFunction"]["Environment"]["Variables"] for it in (moving, unmoved)]
    assert [it.get("MINUTEHAND_MOVING_KEY_ID") for it in archivers] == [KEY, None], archivers
    assert set(Transformed(path, Moving="yes").resources) == set(plainly.resources)
    yield "Moving: what the archiver may do besides, and its key, or nothing"
    bodies = Transformed(path, Archive="yes", KeepBodies="failures", HistoryDays=7, DataKeyArn=KEY)
    policies = {"ExecutorBodiesPolicy", "ExecutorBodiesKeyPolicy"}
    assert set(bodies.resources) - set(keyed) == policies
    executors = [it["ExecutorFunction"]["Environment"]["Variables"] for it in (keyed, bodies.resources)]
    assert set(executors[1]) - set(executors[0]) == {"MINUTEHAND_ARCHIVE", "MINUTEHAND_KEEP_BODIES"}, executors
    assert executors[1]["MINUTEHAND_KEEP_BODIES"] == "failures"
    rules = bodies.resources["ArchiveBucket"]["LifecycleConfiguration"]["Rules"]
    assert [rule.get("ExpirationInDays") for rule in rules] == [None, 7], rules
    yield "KeepBodies: the executor may write below bodies/, or nothing"


def organisation(path, plainly):
    """PermissionsBoundaryArn."""
    everything = {"ActionArns": QUEUE, "Release": "r1", "Archive": "yes"}
    kinds = Transformed(path, **everything).types
    roles = [name for name, kind in kinds.items() if kind == "AWS::IAM::Role"]
    assert len(roles) == 5, roles
    bounded = Transformed(path, **everything, PermissionsBoundaryArn=BOUNDARY).resources
    free = Transformed(path, **everything).resources
    for role in roles:
        assert bounded[role]["PermissionsBoundary"] == BOUNDARY, role
        assert "PermissionsBoundary" not in free[role], role
    yield f"PermissionsBoundaryArn: on all {len(roles)} roles, or on none"
