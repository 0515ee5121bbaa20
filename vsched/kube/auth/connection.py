"""How to reach one API server, as a value: where, trusting whom, and as whom."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from vsched.kube.auth.credentials import Credentials, FixedHeaders


@dataclass(frozen=True)
class Connection:
    """Everything a client needs to know of its server."""

    server: str
    """Scheme, host, port and perhaps a path; no slash at the end."""
    tls: ssl.SSLContext | None = None
    """None for plain http."""
    server_name: str | None = None
    """The name on the server's certificate, where it is not the host's."""
    proxy: str | None = None
    credentials: Credentials = field(default_factory=FixedHeaders)
    namespace: str = "default"
    """What the context or the pod calls its own; used where a command names none."""
    source: str = ""
    """Where all this was read, for messages."""
