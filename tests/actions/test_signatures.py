"""Signed requests, as the official libraries of Standard Webhooks verify them."""

import base64
import http.server
import json
import os
import subprocess
from threading import Thread

from scheduler import until
from standardwebhooks import Webhook, WebhookVerificationError

NODE = """
const { Webhook } = require('standardwebhooks');
const { secret, body, headers } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
try {
  new Webhook(secret).verify(body, headers);
  console.log('verified');
} catch (error) {
  console.log(String(error.message));
}
"""


class Target:
    """A server that remembers requests, and fails the first ones."""

    def __init__(self, failures):
        self.requests = requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                requests.append({"body": body, "headers": headers})
                self.send_response(500 if len(requests) <= failures else 204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        Thread(target=self.server.serve_forever, daemon=True).start()


def secret():
    return "whsec_" + base64.b64encode(os.urandom(32)).decode()


def python_verifies(secret, request):
    try:
        Webhook(secret).verify(request["body"], request["headers"])
    except WebhookVerificationError:
        return False
    return True


def node_verifies(setup, secret, request):
    given = json.dumps({"secret": secret, **request})
    said = subprocess.run(
        ["node", "-e", NODE],
        env={**os.environ, "NODE_PATH": setup["modules"]},
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.strip() == "verified"


def test_the_official_libraries_verify_each_of_two_secrets(setup, scheduler_alone):
    new, old, other = secret(), secret(), secret()
    target = Target(failures=1)
    action = {
        "type": "Http",
        "request": {"uri": target.url, "method": "POST", "body": '{"to":"Zürich","n":1.50}'},
        "retryPolicy": {"retryType": "fixed", "retryInterval": "PT15S", "retryCount": 1},
    }
    scheduler_alone.put(action, minutehand={"sign": {"secrets": [new, old]}})
    first, retry = until(
        lambda: target.requests[:2], lambda seen: len(seen) == 2, "what the target has seen"
    )
    for request in (first, retry):
        for known in (new, old):
            assert python_verifies(known, request) and node_verifies(setup, known, request)
        assert not python_verifies(other, request) and not node_verifies(setup, other, request)
        forged = {**request, "body": request["body"] + " "}
        assert not python_verifies(new, forged) and not node_verifies(setup, new, forged)
    # One occurrence is one message, however often it is sent.
    assert first["headers"]["webhook-id"] == retry["headers"]["webhook-id"]
