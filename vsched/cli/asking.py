"""Asking a running daemon: the flags that say where it listens and who we are, and one clear line where it says no."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from vsched.errors import BadInput, Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.connection import Connection
from vsched.kube.credentials import Credentials, FixedHeaders, TokenFile
from vsched.kube.errors import ApiError, NotFound

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T")

DEFAULT_DAEMON = "http://127.0.0.1:8080"
"""Where ``vsched run`` listens on this machine, and ``kubectl port-forward`` leads to."""

REACHING = (
    "is vsched running there? --daemon URL says where; kubectl -n vsched port-forward svc/vsched 8080 leads there"
)

_FILE = click.Path(path_type=Path, dir_okay=False)


class Target(NamedTuple):
    """A running daemon, and how to be let in."""

    daemon: str = DEFAULT_DAEMON
    """Its ``--listen-address``, as a URL or as host and port."""
    token_file: Path | None = None
    ca_file: Path | None = None
    """Whom its certificate is from, where this machine does not know them anyway."""
    cert_file: Path | None = None
    key_file: Path | None = None


def asking(command: C) -> C:
    """The flags that say which daemon is asked, and as whom; ``target_of`` makes one value of them."""
    for option in (
        click.option("--daemon-key-file", type=_FILE, help="the key of --daemon-cert-file"),
        click.option("--daemon-cert-file", type=_FILE, help="a client certificate to show it"),
        click.option("--daemon-ca-file", type=_FILE, help="the authority of its certificate, where it is your own"),
        click.option("--daemon-token-file", type=_FILE, help="a file with the bearer token to show it"),
        click.option(
            "--daemon",
            metavar="URL",
            default=DEFAULT_DAEMON,
            show_default=True,
            envvar="VSCHED_DAEMON",
            help="a running daemon's --listen-address",
        ),
    ):
        command = option(command)
    return command


def target_of(
    daemon: str,
    daemon_token_file: Path | None,
    daemon_ca_file: Path | None,
    daemon_cert_file: Path | None,
    daemon_key_file: Path | None,
) -> Target:
    """What the flags of ``asking`` come to."""
    return Target(daemon, daemon_token_file, daemon_ca_file, daemon_cert_file, daemon_key_file)


@asynccontextmanager
async def daemon_client(target: Target) -> AsyncIterator[ApiClient]:
    """A client of the daemon; raises BadInput where the files cannot be used."""
    async with ApiClient(_connection(target)) as client:
        yield client


def ask_daemon(target: Target, question: Callable[[ApiClient], Awaitable[T]]) -> T:
    """The answer of a running daemon; raises one clear line where it is not there, or does not let us in."""

    async def once() -> T:
        async with daemon_client(target) as client:
            return await question(client)

    try:
        return asyncio.run(once())
    except NotFound:
        raise
    except ApiError as error:
        raise BadInput(f"{target.daemon}: {error}") from None
    except Unavailable as error:
        raise Unavailable(f"{error} ({REACHING})") from None


def _connection(target: Target) -> Connection:
    server = target.daemon.rstrip("/")
    server = server if "://" in server else f"http://{server}"
    credentials: Credentials = FixedHeaders() if target.token_file is None else TokenFile(target.token_file)
    if not server.startswith("https://"):
        return Connection(server, credentials=credentials)
    return Connection(server, tls=_tls(target), credentials=credentials)


def _tls(target: Target) -> ssl.SSLContext:
    if (target.cert_file is None) is not (target.key_file is None):
        raise BadInput("--daemon-cert-file and --daemon-key-file are needed together")
    try:
        context = ssl.create_default_context(cafile=target.ca_file)
        if target.cert_file is not None and target.key_file is not None:
            context.load_cert_chain(target.cert_file, target.key_file)
    except (OSError, ssl.SSLError) as error:
        raise BadInput(f"--daemon-ca-file, --daemon-cert-file: {error} (expected PEM files)") from None
    return context
