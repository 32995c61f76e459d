"""The target that jobs call: its answer depends on the path, and it records all requests."""

import threading
import time
from collections import namedtuple
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Call = namedtuple("Call", "at method headers body")


class Target:
    """Listens on a free port of loopback while it is entered. The status for `/fail…` is 500, for `/long…` 202, as
    the end is reported later, otherwise 200."""

    def __init__(self):
        self._calls = {}
        self._lock = threading.Lock()

    def __enter__(self):
        target = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                at = time.time()
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                # The names of headers are case-insensitive.
                headers = {name.lower(): value for name, value in self.headers.items()}
                target._note(self.path, Call(at, self.command, headers, body))
                answer = b"no" if self.path.startswith("/fail") else b"yes"
                is_open = self.path.startswith("/long")
                self.send_response(500 if answer == b"no" else 202 if is_open else 200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        host, port = self._server.server_address
        self.url = f"http://{host}:{port}"
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def calls(self, path):
        with self._lock:
            return list(self._calls.get(path, []))

    def _note(self, path, call):
        with self._lock:
            self._calls.setdefault(path, []).append(call)
