"""The address of a daemon and the credentials for it, and the connection that they make.

Errors name the flags of commands, which are called as the fields of ``DaemonTarget``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vsched.client import words
from vsched.errors import BadInput

if TYPE_CHECKING:  # imported where a client is made, so that --help does not load it
    import ssl

    from vsched.kube.auth.connection import Connection
    from vsched.kube.client import ApiClient

PATIENCE_SECONDS = 30.0
"""How long an answer may take: a session may be in progress, and an explanation tries what would help."""
DEFAULT_DAEMON = "http://127.0.0.1:8080"
"""Where ``vsched run`` listens by default, and where ``kubectl port-forward`` leads to."""


class DaemonTarget(NamedTuple):
    """The address of a running daemon, and the credentials for it."""

    daemon: str = DEFAULT_DAEMON
    """Its ``--listen-address``, as a URL or as host and port."""
    token_file: Path | None = None
    ca_file: Path | None = None
    """The authority of its certificate, where the system does not trust it already."""
    cert_file: Path | None = None
    key_file: Path | None = None
    server_name: str = ""
    """The name on its certificate, where the address has another."""
    named: bool = True
    """Whether a flag or the environment named the daemon; else it is the default one."""


def address_of(target: DaemonTarget) -> str:
    """The URL of a daemon; ``HOST:PORT`` and ``:PORT`` are accepted, too.

    Raises BadInput where it is malformed.
    """
    from yarl import URL

    given = target.daemon.strip()
    text = given if "://" in given else f"http://{'127.0.0.1' if given.startswith(':') else ''}{given}"
    try:
        url = URL(text)
        usable = url.scheme in ("http", "https") and bool(url.host) and url.port is not None
    except ValueError:
        usable = False
    if not usable or url.query_string or url.fragment or any(letter.isspace() for letter in text):
        raise BadInput(words.no_url(target.daemon, DEFAULT_DAEMON))
    if url.user is not None or url.password is not None:
        raise BadInput(words.CREDENTIALS_IN_URL)
    return text.rstrip("/")


def api_client(target: DaemonTarget, patience_seconds: float = PATIENCE_SECONDS) -> ApiClient:
    """A client that does not retry; raises BadInput where the target is wrong."""
    from vsched.kube.client import ApiClient, ClientSettings

    connect_seconds = min(5.0, patience_seconds)
    settings = ClientSettings(timeout_seconds=patience_seconds, connect_seconds=connect_seconds, attempts=1)
    return ApiClient(connection_to(target), settings)


def connection_to(target: DaemonTarget) -> Connection:
    """How to connect to a daemon; raises BadInput where the flags are wrong."""
    from vsched.kube.auth.connection import Connection
    from vsched.kube.auth.credentials import Credentials, FixedHeaders, TokenFile

    server = address_of(target)
    try:
        credentials: Credentials = FixedHeaders() if target.token_file is None else TokenFile(target.token_file)
    except BadInput as error:
        raise BadInput(f"--daemon-token-file: {error}") from None
    if server.startswith("https://"):
        return Connection(
            server, tls=_tls(target), server_name=target.server_name or None, credentials=credentials, source="--daemon"
        )
    for flag in ("ca_file", "cert_file", "key_file", "server_name"):
        if getattr(target, flag):
            name = flag.replace("_", "-")
            raise BadInput(words.reached_without_tls(name, server))
    return Connection(server, credentials=credentials, source="--daemon")


def _tls(target: DaemonTarget) -> ssl.SSLContext:
    import ssl

    if (target.cert_file is None) is not (target.key_file is None):
        raise BadInput(words.CERTIFICATE_WITHOUT_KEY)
    try:
        context = ssl.create_default_context(cafile=target.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise BadInput(f"--daemon-ca-file {target.ca_file}: {_reason(error)} (expected a PEM file)") from None
    if target.cert_file is not None and target.key_file is not None:
        try:
            context.load_cert_chain(target.cert_file, target.key_file)
        except (OSError, ssl.SSLError) as error:
            raise BadInput(words.bad_certificate(target.cert_file, target.key_file, _reason(error))) from None
    return context


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
