"""The policy of those who deploy, compared with what CloudFormation says that each resource needs.

cfn-lint brings the schemas of all resource types. They name the actions that CloudFormation calls in the
deployer's name: those for every property that the type has, so some are for properties that the template
does not use.
"""

import json
from fnmatch import fnmatchcase

import cfnlint
import cfnlint.decode
from pathlib import Path

SCHEMAS = Path(cfnlint.__file__).parent / "data" / "schemas"
# What a managed policy of IAM may have, without white space.
CHARACTERS_MAX = 6144
# CloudFormation publishes no schema with actions for this type.
WITHOUT_SCHEMA = {
    "AWS::Route53::RecordSet": {
        "route53:ChangeResourceRecordSets",
        "route53:GetChange",
        "route53:GetHostedZone",
        "route53:ListResourceRecordSets",
    }
}
# Actions for properties that the template does not have, by what they are for.
UNUSED = {
    "bodies of APIs in S3": ["s3:getObject"],
    "gradual deployments": ["codedeploy:*"],
    "provisioned concurrency": ["lambda:*ProvisionedConcurrencyConfig"],
    "scheduled scaling": ["application-autoscaling:*ScheduledAction"],
    "file systems": ["elasticfilesystem:*", "s3files:*"],
    "capacity providers": ["lambda:*FunctionScalingConfig", "lambda:PassCapacityProvider"],
    "code signing": ["lambda:*CodeSigningConfig"],
    "layers": ["lambda:GetLayerVersion"],
    "pinned runtimes": ["lambda:PutRuntimeManagementConfig"],
    "keys for variables, events and mappings": ["kms:GenerateDataKey*", "kms:ReEncrypt*"],
    "imports, copies, streams and contents of tables": [
        "dynamodb:*Item",
        "dynamodb:*KinesisStreamingDestination",
        "dynamodb:*TableReplica",
        "dynamodb:ImportTable",
        "dynamodb:Query",
        "dynamodb:Scan",
        "kinesis:*",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "s3:GetObjectMetadata",
    ],
    "contents of buckets, and tables of their metadata": [
        "s3:DeleteObject",
        "s3:PutObjectAcl",
        "s3tables:*",
    ],
    "contributor insights": ["dynamodb:UpdateContributorInsights"],
    "resource policies": ["dynamodb:PutResourcePolicy", "dynamodb:DeleteResourcePolicy"],
    "other accounts on a bus": ["events:PutPermission", "events:RemovePermission"],
    "users and groups": ["iam:*UserPolicy", "iam:*GroupPolicy"],
    "settings of logs and topics": [
        "firehose:*",
        "logs:*BearerTokenAuthentication",
        "logs:*DataProtectionPolicy",
        "logs:*IndexPolic*",
        "logs:PutLogGroupDeletionProtection",
        "s3:REST.PUT.OBJECT",
        "sns:*DataProtectionPolicy",
    ],
}
# What no schema names: the calls of sam and of the scripts, and what services check beside.
BESIDE = [
    "acm:DescribeCertificate",
    "apigateway:UntagResource",
    "cloudformation:*",
    "lambda:GetAccountSettings",
    "logs:*LogDeliver*",
    "s3:*",
]


def checks(template, policy):
    """Runs the checks, and yields one line per result."""
    text = policy.read_text()
    length = len("".join(text.split()))
    assert length <= CHARACTERS_MAX, f"the policy has {length} characters, IAM takes {CHARACTERS_MAX}"
    statements = json.loads(text)["Statement"]
    assert {it["Effect"] for it in statements} == {"Allow"}
    allowed = [action for it in statements for action in in_list(it["Action"])]
    needed = needs(template)
    unused = [pattern for patterns in UNUSED.values() for pattern in patterns]
    stale = [it for it in unused if not any(matches(it, action) for action in needed)]
    assert not stale, f"no resource needs {stale}: remove them here"
    needed = {action for action in needed if not any(matches(it, action) for it in unused)}

    missing = [it for it in needed if not any(matches(pattern, it) for pattern in allowed)]
    assert not missing, f"the policy lacks {sorted(missing)}"
    idle = [
        pattern
        for pattern in allowed
        if not any(matches(pattern, it) for it in needed)
        and not any(fnmatchcase(pattern, it) for it in BESIDE)
    ]
    assert not idle, f"nothing needs {sorted(idle)} of the policy"
    # Without a resource, an action is for everything in the account.
    wide = {action for it in statements if it["Resource"] == "*" for action in in_list(it["Action"])}
    assert not any(it.startswith(("iam:", "dynamodb:", "sqs:")) for it in wide), wide
    yield f"the deployer's policy: {len(needed)} actions of {length} characters, none missing, none idle"


def needs(template):
    """The actions that CloudFormation names for the types of the template, whatever its parameters are."""
    read, problems = cfnlint.decode.decode(str(template))
    assert not problems, problems
    types = {resource["Type"] for resource in read["Resources"].values()}
    types = {"AWS::Lambda::Function" if it == "AWS::Serverless::Function" else it for it in types}
    files = json.loads((SCHEMAS / "providers" / "us-east-1.json").read_text())
    actions = set()
    for name in types:
        schema = json.loads((SCHEMAS / "resources" / f"{files[name]}.json").read_text())
        handlers = schema.get("handlers", {})
        of_type = {it for verb in VERBS for it in handlers.get(verb, {}).get("permissions", [])}
        of_type = of_type or WITHOUT_SCHEMA.get(name, set())
        assert of_type, f"no schema says what {name} needs"
        actions |= of_type
    return actions


VERBS = ["create", "read", "update", "delete"]


def matches(pattern, action):
    # IAM ignores the case of actions.
    return fnmatchcase(action.lower(), pattern.lower())


def in_list(value):
    return value if isinstance(value, list) else [value]
