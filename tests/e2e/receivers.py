"""The AWS resources that jobs send to. They exist before the stack, which gets their ARNs."""

import io
import json
import zipfile

# The function reports to the URL in its payload, because an asynchronous invocation returns no result.
FUNCTION = """
import urllib.request

def handler(event, context):
    urllib.request.urlopen(event["tell"], b"invoked", 5).close()
"""


class Receivers:
    """A queue with a topic and a bus that forward to it, a function, and a queue that jobs may not use."""

    def __init__(self, emulator):
        self.emulator = emulator
        self.queue, queue_arn = queue(emulator, "sent")
        self.unlisted, _ = queue(emulator, "unlisted")
        sns = emulator.client("sns")
        self.topic = sns.create_topic(Name="sent")["TopicArn"]
        raw = {"RawMessageDelivery": "true"}
        sns.subscribe(TopicArn=self.topic, Protocol="sqs", Endpoint=queue_arn, Attributes=raw)
        events = emulator.client("events")
        bus_arn = events.create_event_bus(Name="sent")["EventBusArn"]
        forward(emulator, "sent", "jobs", queue_arn)
        self.function = self._function()
        self.arns = [queue_arn, self.topic, self.function, bus_arn]

    def _function(self):
        package = io.BytesIO()
        with zipfile.ZipFile(package, "w") as archive:
            archive.writestr("function.py", FUNCTION)
        made = self.emulator.client("lambda").create_function(
            FunctionName="sent",
            Runtime="python3.11",
            Role=self._role(),
            Handler="function.handler",
            Code={"ZipFile": package.getvalue()},
        )
        return made["FunctionArn"]

    def _role(self):
        """A role for functions without any permissions."""
        assume = {
            "Effect": "Allow",
            "Principal": {"Service": "lambda.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
        document = json.dumps({"Version": "2012-10-17", "Statement": [assume]})
        iam = self.emulator.client("iam")
        return iam.create_role(RoleName="sent", AssumeRolePolicyDocument=document)["Role"]["Arn"]

    def actions(self, target):
        """One action of each type, by the name of its job."""
        tell = json.dumps({"tell": f"{target.url}/invoked"})
        event = {"eventBusName": "sent", "source": "jobs", "detailType": "bus", "detail": "{}"}
        return {
            "queue": self.send(self.queue, "queue"),
            "topic": {"type": "Sns", "snsMessage": {"topicArn": self.topic, "message": "topic"}},
            "function": {
                "type": "Lambda",
                "lambdaInvocation": {"functionName": self.function, "payload": tell},
            },
            "bus": {"type": "EventBridge", "eventBridgeEvent": event},
        }

    def send(self, queue, message):
        return {"type": "Sqs", "sqsMessage": {"queueUrl": queue, "message": message}}

    def received(self):
        """The messages that arrived in the queue since the last call."""
        return [name_of(body) for body in receive(self.emulator, self.queue)]


def name_of(body):
    """The type of an event, or the text of any other message."""
    return json.loads(body)["detail-type"] if body.startswith("{") else body


def queue(emulator, name):
    """Creates a queue that topics and rules may send to; returns its URL and its ARN."""
    sqs = emulator.client("sqs")
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    asked = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    arn = asked["Attributes"]["QueueArn"]
    allow = {
        "Effect": "Allow",
        "Principal": {"Service": ["events.amazonaws.com", "sns.amazonaws.com"]},
        "Action": "sqs:SendMessage",
        "Resource": arn,
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    return url, arn


def forward(emulator, bus, source, queue_arn):
    """Makes a bus forward the events of a source to a queue."""
    events = emulator.client("events")
    rule = {"Name": source, "EventBusName": bus}
    events.put_rule(**rule, EventPattern=json.dumps({"source": [source]}))
    targets = [{"Id": "queue", "Arn": queue_arn}]
    events.put_targets(Rule=source, EventBusName=bus, Targets=targets)


def receive(emulator, url):
    """Receives and deletes the next messages of a queue."""
    sqs = emulator.client("sqs")
    for message in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        yield message["Body"]
