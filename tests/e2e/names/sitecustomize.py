"""Names below `localhost` are this machine (RFC 6761), also where the C library does not know that.

API Gateway's addresses on the emulator are such names.
"""

import socket

_resolve = socket.getaddrinfo


def getaddrinfo(host, *rest, **named):
    if isinstance(host, str) and host.endswith(".localhost"):
        host = "127.0.0.1"
    return _resolve(host, *rest, **named)


socket.getaddrinfo = getaddrinfo
