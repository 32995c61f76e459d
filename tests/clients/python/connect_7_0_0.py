"""Connects azure-mgmt-scheduler 7.0.0 to Minutehand. azure-migration.md shows these lines."""


def connect(url, token, subscription, certificate):
    # shown: azure-mgmt-scheduler 7.0.0
    import time
    from azure.core.credentials import AccessToken
    from azure.mgmt.scheduler import SchedulerManagementClient

    class StaticToken:
        def get_token(self, *scopes, **options):
            return AccessToken(token, int(time.time()) + 86_400)

    client = SchedulerManagementClient(
        StaticToken(), subscription, base_url=url, connection_verify=certificate
    )
    # shown: end
    return client
