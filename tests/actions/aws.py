"""AWS, read with its official client, and the AWS actions of jobs."""

import io
import json
import zipfile

import boto3
from scheduler import until

REGION = "us-east-1"

# Sends its input to a queue, since the caller of an asynchronous invocation gets no answer.
FUNCTION = """
import json, os
import boto3

def handler(event, context):
    sqs = boto3.client("sqs", endpoint_url=os.environ["AWS_ENDPOINT_URL"], region_name="us-east-1")
    sqs.send_message(QueueUrl=os.environ["QUEUE_URL"], MessageBody=json.dumps(event))
"""


class Aws:
    def __init__(self, url):
        credentials = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        for name in ("sqs", "sns", "lambda", "events"):
            client = boto3.client(name, endpoint_url=url, region_name=REGION, **credentials)
            setattr(self, name.replace("lambda", "functions"), client)

    def queue(self, name):
        """Creates a queue, and returns its URL."""
        fifo = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
        return self.sqs.create_queue(QueueName=name, Attributes=fifo)["QueueUrl"]

    def arn(self, queue):
        wanted = {"QueueUrl": queue, "AttributeNames": ["QueueArn"]}
        return self.sqs.get_queue_attributes(**wanted)["Attributes"]["QueueArn"]

    def receive(self, queue):
        """Waits for the next message of a queue, deletes it there, and returns it."""
        wanted = {"MessageAttributeNames": ["All"], "AttributeNames": ["All"], "WaitTimeSeconds": 1}

        def ask():
            return self.sqs.receive_message(QueueUrl=queue, **wanted).get("Messages")

        [message] = until(ask, bool, f"the messages of {queue}")
        self.sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        return message

    def topic(self, name, queue):
        """Creates a topic that forwards its messages to a queue, and returns its ARN."""
        fifo = {"FifoTopic": "true"} if name.endswith(".fifo") else {}
        topic = self.sns.create_topic(Name=name, Attributes=fifo)["TopicArn"]
        raw = {"RawMessageDelivery": "true"}
        self.sns.subscribe(
            TopicArn=topic, Protocol="sqs", Endpoint=self.arn(queue), Attributes=raw
        )
        return topic

    def function(self, name, queue):
        """Creates a function that sends its input to a queue, and returns its ARN."""
        package = io.BytesIO()
        with zipfile.ZipFile(package, "w") as archive:
            archive.writestr("function.py", FUNCTION)
        made = self.functions.create_function(
            FunctionName=name,
            Runtime="python3.11",
            Role="arn:aws:iam::000000000000:role/any",
            Handler="function.handler",
            Code={"ZipFile": package.getvalue()},
            Environment={"Variables": {"QUEUE_URL": queue}},
            Timeout=30,
        )
        return made["FunctionArn"]

    def bus(self, name, source, queue):
        """Creates a bus that forwards the events of a source to a queue."""
        self.events.create_event_bus(Name=name)
        pattern = json.dumps({"source": [source]})
        rule = {"Name": f"{name}-rule", "EventBusName": name}
        self.events.put_rule(**rule, EventPattern=pattern)
        target = [{"Id": "queue", "Arn": self.arn(queue)}]
        self.events.put_targets(Rule=rule["Name"], EventBusName=name, Targets=target)


def text_of(message, attribute):
    return message["MessageAttributes"][attribute]["StringValue"]


def sqs(queue, message, **more):
    return {"type": "Sqs", "sqsMessage": {"queueUrl": queue, "message": message, **more}}


def sns(topic, message, **more):
    return {"type": "Sns", "snsMessage": {"topicArn": topic, "message": message, **more}}


def function(name, **more):
    return {"type": "Lambda", "lambdaInvocation": {"functionName": name, **more}}


def event(source, detail, **more):
    return {
        "type": "EventBridge",
        "eventBridgeEvent": {"source": source, "detailType": "Report", "detail": detail, **more},
    }
