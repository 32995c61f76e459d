"""A fake of Service Bus that accepts messages over the HTTPS API.

It follows Microsoft's documents "Send Message", "Message Headers and Properties", and "Service Bus
access control with Shared Access Signatures". It shares no code with the program that it checks.
"""

import base64
import hashlib
import hmac
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

# The documents use tokens of an hour. A token of a day would be too long-lived for one message.
LIFETIME_SECONDS_MAX = 24 * 60 * 60


class Bus:
    """Accepts messages for given queues and topics, with given keys."""

    def __init__(self, entities, keys):
        self.entities, self.keys, self.messages = set(entities), dict(keys), []
        handler = type("Handler", (_Handler,), {"bus": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def refusal(self, authorization, url):
        """The reason why a request for a URL is not authorized; `None` if it is."""
        scheme, _, fields = (authorization or "").partition(" ")
        if scheme != "SharedAccessSignature":
            return "MalformedToken: the scheme is not SharedAccessSignature"
        pairs = [field.partition("=") for field in fields.split("&")]
        sent = {name: value for name, _, value in pairs}
        if set(sent) != {"sr", "sig", "se", "skn"} or len(pairs) != 4:
            return "MalformedToken: sr, sig, se and skn are required"
        if not sent["se"].isdigit():
            return "MalformedToken: se is not a number"
        left = int(sent["se"]) - time.time()
        if left <= 0:
            return "ExpiredToken"
        if left > LIFETIME_SECONDS_MAX:
            return "TokenLivesTooLong"
        key = self.keys.get(urllib.parse.unquote(sent["skn"]))
        if key is None:
            return "InvalidSignature: no such key"
        # The signature covers the resource as it is encoded in the token, a line feed, and the expiry.
        signed = f"{sent['sr']}\n{sent['se']}".encode()
        expected = base64.b64encode(hmac.new(key.encode(), signed, hashlib.sha256).digest())
        if urllib.parse.unquote(sent["sig"]).encode() != expected:
            return "InvalidSignature: The token has an invalid signature."
        resource = urllib.parse.urlsplit(urllib.parse.unquote(sent["sr"]))
        requested = urllib.parse.urlsplit(url)
        # A token is valid for a resource and everything below it.
        below = (requested.path + "/").startswith(resource.path.rstrip("/") + "/")
        if resource.netloc != requested.netloc or not below:
            return "InvalidAudience"
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path, _, query = self.path.partition("?")
        entity, _, last = path.removeprefix("/").rpartition("/")
        refusal = self.bus.refusal(self.headers["Authorization"], self.bus.url + path)
        if last != "messages" or query not in ("", "timeout=60"):
            self._answer(400, "Bad Request")
        elif refusal:
            self._answer(401, refusal)
        elif entity not in self.bus.entities:
            self._answer(404, f"Entity '{entity}' was not found.")
        else:
            headers = [(name, value) for name, value in self.headers.items()]
            self.bus.messages.append({"path": path, "headers": headers, "body": body})
            self._answer(201)

    def _answer(self, status, detail=None):
        text = f"<Error><Code>{status}</Code><Detail>{detail}</Detail></Error>" if detail else ""
        self.send_response(status)
        self.send_header("Content-Type", "application/xml; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass
