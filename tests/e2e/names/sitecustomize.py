"""Patches that clients of the emulated API Gateway need, and clients on AWS do not.

The gateway's addresses are names below `localhost`, which mean this machine (RFC 6761); not every C
library knows that. The gateway also reports https to the functions, as on AWS, so links to further
pages would begin with https. A header of the request corrects that.
"""

import http.client
import socket

_resolve = socket.getaddrinfo
_begin = http.client.HTTPConnection.putrequest


def getaddrinfo(host, *rest, **named):
    if isinstance(host, str) and host.endswith(".localhost"):
        host = "127.0.0.1"
    return _resolve(host, *rest, **named)


def putrequest(connection, *rest, **named):
    _begin(connection, *rest, **named)
    if connection.host.endswith(".localhost"):
        connection.putheader("X-Forwarded-Proto", "http")


socket.getaddrinfo = getaddrinfo
http.client.HTTPConnection.putrequest = putrequest
