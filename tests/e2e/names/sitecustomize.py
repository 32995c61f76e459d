"""What a client of API Gateway on the emulator needs, and none on AWS.

Its addresses are names below `localhost`, which is this machine (RFC 6761), also where the C library
does not know that. And it tells functions that requests came by https, as on AWS they do, so that
links to further pages would be https; here they say themselves how they came.
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
