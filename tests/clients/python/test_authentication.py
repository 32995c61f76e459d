"""Every type of outbound authentication: round trips, and secrets that answers never contain."""

import base64
from datetime import datetime, timedelta, timezone

import pytest
from azure.mgmt.scheduler import models
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from cryptography.x509.oid import NameOID

from actions import http
from scheduler import Refused, read

SECRET = "a secret that is never answered"


def authentication_read(client, collection, authentication):
    """The authentication in answers, which is the same for create, get, patch and list."""
    action = models.JobAction(**http(authentication=authentication))
    answers = [client.put_job(collection, "job", action=action)]
    answers += [client.get_job(collection, "job")]
    # A patch without the authentication keeps it, including its secrets.
    patch = models.JobAction(request=models.HttpRequest(method="DELETE"))
    answers += [client.patch_job(collection, "job", action=patch)]
    answers += client.list_jobs(collection)
    found = [read(answer)["properties"]["action"]["request"]["authentication"] for answer in answers]
    assert all(other == found[0] for other in found)
    assert SECRET not in str(found)
    return found[0]


def test_basic(client, collection):
    sent = models.BasicAuthentication(username="user", password=SECRET)
    found = authentication_read(client, collection, sent)
    assert found == {"type": "basic", "username": "user"}


def test_active_directory_oauth(client, collection):
    fields = {"tenant": "t.onmicrosoft.com", "audience": "https://a/", "client_id": "id"}
    sent = models.OAuthAuthentication(secret=SECRET, **fields)
    found = authentication_read(client, collection, sent)
    assert found == {"type": "activedirectoryoauth", **fields}


def test_client_certificate(client, collection):
    pfx, certificate = make_pfx(SECRET)
    sent = models.ClientCertAuthentication(pfx=pfx, password=SECRET)
    found = authentication_read(client, collection, sent)
    # Azure answered 'certificateExpiration', which no client reads: they were generated to read
    # 'certificateExpirationDate'.
    assert found == {
        "type": "clientcertificate",
        "certificate_thumbprint": certificate.fingerprint(hashes.SHA1()).hex().upper(),
        "certificate_subject_name": "CN=Scheduler Tests",
    }


def test_a_pfx_with_a_wrong_password_is_refused(client, collection):
    pfx, _ = make_pfx(SECRET)
    sent = models.ClientCertAuthentication(pfx=pfx, password="another")
    with pytest.raises(Refused) as refused:
        client.put_job(collection, "job", action=models.JobAction(**http(authentication=sent)))
    assert refused.value.status == 400
    assert pfx not in refused.value.message


def test_basic_without_a_password_is_refused_in_the_words_of_azure(client, collection):
    sent = models.BasicAuthentication(username="user")
    with pytest.raises(Refused) as refused:
        client.put_job(collection, "job", action=models.JobAction(**http(authentication=sent)))
    assert refused.value.status == 400
    assert refused.value.message == (
        "'Username' and 'Password' are required for 'Basic' type of Authentication."
    )


def test_a_put_without_authentication_removes_it(client, collection):
    sent = models.BasicAuthentication(username="user", password=SECRET)
    client.put_job(collection, "job", action=models.JobAction(**http(authentication=sent)))
    client.put_job(collection, "job", action=models.JobAction(**http()))
    request = read(client.get_job(collection, "job"))["properties"]["action"]["request"]
    assert request == {"uri": "http://example.org/run", "method": "GET"}


def test_credentials_in_headers_and_queries_survive_reading_changing_and_writing(client, collection):
    uri = "http://example.org/run?x=1&code="
    headers = {"Accept": "*/*", "X-Functions-Key": SECRET, "Authorization": "Bearer " + SECRET}
    request = http(uri=uri + "a+canary", headers=headers)
    created = client.put_job(collection, "job", action=models.JobAction(**request))
    withheld = {name: "(withheld)" for name in headers} | {"Accept": "*/*"}
    for answer in [created, client.get_job(collection, "job"), *client.list_jobs(collection)]:
        found = read(answer)["properties"]["action"]["request"]
        assert found["uri"] == uri + "(withheld)"
        assert found["headers"] == withheld

    action = client.get_job(collection, "job").properties.action
    action.request.body = "changed"
    action.request.method = "POST"
    client.put_job(collection, "job", action=action)
    # If a value were lost, this would be refused: there would be nothing to keep.
    answer = client.put_job(collection, "job", action=action)
    found = read(answer)["properties"]["action"]["request"]
    assert found["headers"] == withheld and found["body"] == "changed"

    action.request.uri = "http://other.example/run?x=1&code=(withheld)"
    with pytest.raises(Refused) as refused:
        client.put_job(collection, "job", action=action)
    assert refused.value.status == 400
    assert "was given for another host" in refused.value.message


def make_pfx(password):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Scheduler Tests")])
    begins = datetime(2026, 1, 1, tzinfo=timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    pfx = pkcs12.serialize_key_and_certificates(
        b"tests", key, certificate, None, BestAvailableEncryption(password.encode())
    )
    return base64.b64encode(pfx).decode(), certificate
