"""What the tools read of a deployed stack."""

import argparse
import os

ENDPOINT = "AWS_ENDPOINT_URL"


def arguments(doc):
    """The arguments that all tools have: the stack, its region, and another endpoint than AWS's."""
    text, _, usage = doc.partition("usage: ")
    parser = argparse.ArgumentParser(description=text, usage=usage.split("\n")[0])
    parser.add_argument("stack", metavar="STACK", help="name of the stack")
    parser.add_argument("--region", help="its region, otherwise that of your settings")
    parser.add_argument("--endpoint", help=f"URL of an emulator, otherwise {ENDPOINT} or AWS")
    return parser


class Installation:
    """A stack: its parameters, outputs and resources."""

    def __init__(self, options):
        import boto3

        self.stack = options.stack
        self.endpoint = options.endpoint or os.environ.get(ENDPOINT)
        self.session = boto3.Session(region_name=options.region)
        self._clients, self._names = {}, {}
        [described] = self.client("cloudformation").describe_stacks(StackName=self.stack)["Stacks"]
        self.status = described["StackStatus"]
        self.changed_at = described.get("LastUpdatedTime") or described["CreationTime"]
        self.parameters = {it["ParameterKey"]: it["ParameterValue"] for it in described["Parameters"]}
        self.outputs = {it["OutputKey"]: it["OutputValue"] for it in described.get("Outputs", [])}

    def client(self, service):
        from botocore.config import Config

        if service not in self._clients:
            limits = Config(connect_timeout=5, read_timeout=60, retries={"max_attempts": 4, "mode": "standard"})
            self._clients[service] = self.session.client(service, endpoint_url=self.endpoint, config=limits)
        return self._clients[service]

    def name(self, logical):
        """The physical name of a resource."""
        if logical not in self._names:
            client = self.client("cloudformation")
            found = client.describe_stack_resource(StackName=self.stack, LogicalResourceId=logical)
            self._names[logical] = found["StackResourceDetail"]["PhysicalResourceId"]
        return self._names[logical]

    def unheard(self):
        """Why the alarms of the stack reach no one; `None` if they do, as far as AWS knows."""
        email, topic = (self.parameters.get(it, "") for it in ["AlarmEmail", "AlarmTopicArn"])
        if email == "" and topic == "":
            return "nobody is told of alarms: set AlarmEmail or AlarmTopicArn"
        if email == "":
            return None
        listed = self.client("sns").list_subscriptions_by_topic(TopicArn=self.name("AlarmTopic"))
        if any(it["SubscriptionArn"].startswith("arn:") for it in listed["Subscriptions"]):
            return None
        return f"nobody confirmed the mail of AWS to {email}: look for it, or subscribe again"
