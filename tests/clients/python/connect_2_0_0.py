"""Connects azure-mgmt-scheduler 2.0.0 to Minutehand. azure-migration.md shows these lines."""


def connect(url, token, subscription):
    # shown: azure-mgmt-scheduler 2.0.0
    from azure.mgmt.scheduler import SchedulerManagementClient
    from msrest.authentication import BasicTokenAuthentication

    credentials = BasicTokenAuthentication({"access_token": token})
    client = SchedulerManagementClient(credentials, subscription, base_url=url)
    # shown: end
    return client
