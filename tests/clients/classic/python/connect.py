"""Connects azure-servicemanagement-legacy 0.20.8 to Minutehand. azure-migration.md shows these lines."""


def with_token(host, token, subscription, certificate):
    # shown: azure-servicemanagement-legacy 0.20.8
    import requests
    from azure.servicemanagement import SchedulerManagementService

    session = requests.Session()
    session.verify = certificate
    session.headers["Authorization"] = f"Bearer {token}"
    client = SchedulerManagementService(subscription, host=host, request_session=session)
    # shown: end
    return client


def with_certificate(host, client_certificate, subscription, certificate):
    import requests
    from azure.servicemanagement import SchedulerManagementService

    session = requests.Session()
    session.verify = certificate
    session.cert = client_certificate
    return SchedulerManagementService(subscription, host=host, request_session=session)
