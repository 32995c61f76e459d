"""Makes the schedules of schedules.json in moto with boto3, reads them back, and prints them as JSON."""

import json
from datetime import datetime, timezone
from pathlib import Path

import boto3
from moto import mock_aws

ROLE = "arn:aws:iam::123456789012:role/scheduler"


def value(text):
    """Dates are written as text in the file, and boto3 takes them as dates."""
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


with mock_aws():
    scheduler = boto3.client(
        "scheduler", "eu-west-1", aws_access_key_id="x", aws_secret_access_key="x"
    )
    schedules = json.loads((Path(__file__).parent / "schedules.json").read_text())
    for name, wanted in schedules.items():
        arguments = {
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": {"Arn": "arn:aws:sqs:eu-west-1:123456789012:q", "Input": "{}"},
            **wanted["schedule"],
        }
        arguments["Target"]["RoleArn"] = ROLE
        for date in ("StartDate", "EndDate"):
            if date in arguments:
                arguments[date] = value(arguments[date])
        scheduler.create_schedule(Name=name, **arguments)
    # As a user does it: list, then get each one.
    answers = []
    for page in scheduler.get_paginator("list_schedules").paginate():
        for listed in page["Schedules"]:
            answer = scheduler.get_schedule(Name=listed["Name"], GroupName=listed["GroupName"])
            del answer["ResponseMetadata"]
            answers.append(answer)
    # Dates as the AWS command line prints them.
    print(json.dumps(answers, default=lambda date: date.isoformat()))
