"""The connection to one API server as a value: address, TLS trust and credentials."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from vsched.kube.auth.credentials import Credentials, FixedHeaders
from vsched.version import user_agent


@dataclass(frozen=True)
class Connection:
    """Everything that a client needs to know about its server."""

    server: str
    """Scheme, host, port and perhaps a path; no slash at the end."""
    tls: ssl.SSLContext | None = None
    """None for plain http."""
    server_name: str | None = None
    """The name on the server's certificate, if it is not the host name."""
    proxy: str | None = None
    credentials: Credentials = field(default_factory=FixedHeaders)
    namespace: str = "default"
    """The namespace of the context or the pod; used when a command names none."""
    agent: str = field(default_factory=user_agent)
    """How the client calls itself."""
    source: str = ""
    """Where all this was read from, for messages."""
