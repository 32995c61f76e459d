"""Storage queues, read with Microsoft's client, and the action of jobs."""

from datetime import UTC, datetime, timedelta

from azure.storage.queue import (
    AccountSasPermissions,
    QueueSasPermissions,
    QueueServiceClient,
    ResourceTypes,
    generate_account_sas,
    generate_queue_sas,
)

# The account and key of all emulators of Storage.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
HOUR = timedelta(hours=1)


def now():
    return datetime.now(UTC)


class Storage:
    def __init__(self, url):
        self.service = QueueServiceClient(f"{url}/{ACCOUNT}", credential=KEY)

    def queue(self, name):
        return self.service.create_queue(name)

    @staticmethod
    def sas(queue, lifetime=HOUR):
        """A token for one queue."""
        may_add = QueueSasPermissions(add=True)
        start = now() - 2 * HOUR
        return generate_queue_sas(
            ACCOUNT, queue, KEY, permission=may_add, expiry=now() + lifetime, start=start
        )

    @staticmethod
    def account_sas():
        """A token for the whole account."""
        may_add = AccountSasPermissions(add=True, write=True)
        everything = ResourceTypes(object=True, container=True)
        return generate_account_sas(ACCOUNT, KEY, everything, may_add, now() + HOUR)


def texts(queue):
    """The texts of the messages in a queue."""
    return [message.content for message in queue.receive_messages()]


def action(queue, sas, message, **more):
    """The action of a job."""
    return {
        "type": "StorageQueue",
        "queueMessage": {
            "storageAccount": ACCOUNT,
            "queueName": queue,
            "sasToken": sas,
            "message": message,
            **more,
        },
    }
