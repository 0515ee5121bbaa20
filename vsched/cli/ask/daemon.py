"""Asking a running daemon: the flags for its address and our credentials, the client, and errors in one clear line."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from vsched import __version__
from vsched.errors import BadInput, Unavailable, VschedError

if TYPE_CHECKING:  # imported where a client is made, so that --help does not load it
    import ssl

    from vsched.kube.client import ApiClient
    from vsched.kube.connection import Connection
    from vsched.kube.errors import ApiError, NotFound

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T")

DEFAULT_DAEMON = "http://127.0.0.1:8080"
"""Where ``vsched run`` listens by default, and where ``kubectl port-forward`` leads to."""

REACHING = (
    "is vsched running there? --daemon URL says where; "
    "kubectl -n vsched port-forward svc/vsched-leader 8080 leads there"
)
LETTING_IN = "--daemon-token-file FILE, or --daemon-cert-file and --daemon-key-file, say who you are"
PERMITTING = "a role with nonResourceURLs gives it, or --allow-user and --allow-group of vsched run"
TRUSTING = "--daemon-ca-file FILE names its authority, --daemon-server-name NAME the name on its certificate"

PATIENCE_SECONDS = 30.0
"""How long an answer may take: a session may be in progress, and an explanation tries what would help."""

NAMED = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
"""The sources by which a user names a daemon."""

_FILE = click.Path(path_type=Path, dir_okay=False)


class Unknown(BadInput):
    """The daemon does not know this name; the text is the daemon's own."""


class Idle(Unavailable):
    """The daemon answers but decides nothing: another one leads, or it is starting."""


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


# -- flags


def asking(command: C) -> C:
    """Adds the flags for the daemon and the credentials; the command gets them as ``target``."""
    return _with_target(command, DEFAULT_DAEMON, "a running daemon's --listen-address")


def asking_if_named(command: C) -> C:
    """The same for commands that need no daemon: ``target`` is None where none is named."""
    return _with_target(command, "", "a running daemon's --listen-address: what only it knows is shown too")


def _with_target(command: C, default: str, says: str) -> C:
    @functools.wraps(command)
    def with_target(**values: Any) -> Any:
        flags = {name: values.pop(f"daemon_{name}") for name in _FLAGS}
        return command(target=_target(values.pop("daemon"), default, flags), **values)

    made: Any = with_target
    for name, says_of_flag in reversed(_FLAGS.items()):
        flag = f"--daemon-{name.replace('_', '-')}"
        kind: Any = {"metavar": "NAME", "default": ""} if name == "server_name" else {"type": _FILE}
        made = click.option(flag, envvar=f"VSCHED_DAEMON_{name.upper()}", help=says_of_flag, **kind)(made)
    made = click.option(
        "--daemon", metavar="URL", default=default, show_default=bool(default), envvar="VSCHED_DAEMON", help=says
    )(made)
    found: C = made
    return found


_FLAGS = {
    "token_file": "a file with the bearer token to show it",
    "ca_file": "the authority of its certificate, where it is your own",
    "cert_file": "a client certificate to show it",
    "key_file": "the key of --daemon-cert-file",
    "server_name": "the name on its certificate, where it is reached by another, as through a port-forward",
}


def _target(given: str, default: str, flags: dict[str, Any]) -> DaemonTarget | None:
    """The target that the flags name; an empty address counts as none."""
    source_of = click.get_current_context().get_parameter_source
    daemon = given or default
    if not daemon:
        useless = [name for name in flags if source_of(f"daemon_{name}") is ParameterSource.COMMANDLINE]
        if useless:
            names = ", ".join(f"--daemon-{name.replace('_', '-')}" for name in useless)
            raise BadInput(f"{names}: for which daemon? (expected --daemon URL)")
        return None
    return DaemonTarget(daemon, **flags, named=bool(given) and source_of("daemon") in NAMED)


# -- asking


@asynccontextmanager
async def daemon_client(target: DaemonTarget, patience_seconds: float = PATIENCE_SECONDS) -> AsyncIterator[ApiClient]:
    """A client of the daemon that does not retry; raises BadInput where the flags are wrong."""
    from vsched.kube.client import ApiClient, ClientSettings

    settings = ClientSettings(timeout_seconds=patience_seconds, connect_seconds=min(5.0, patience_seconds), attempts=1)
    async with ApiClient(connection_to(target), settings) as client:
        yield client


def ask_daemon(target: DaemonTarget, question: Callable[[ApiClient], Awaitable[T]]) -> T:
    """Ask a running daemon, outside of an event loop; raises what ``asked`` raises."""
    return asyncio.run(asked(target, question))


async def asked(target: DaemonTarget, question: Callable[[ApiClient], Awaitable[T]]) -> T:
    """Ask a running daemon, inside of an event loop.

    Raises Unknown where the daemon does not know the name, Unavailable where it does not answer or cannot now, and
    BadInput where it refuses us or is not vsched. Each is one clear line.
    """
    from vsched.kube.errors import ApiError

    async with daemon_client(target) as client:
        try:
            return await question(client)
        except Idle:
            raise
        except (ApiError, Unavailable) as error:
            raise explained_error(target, error) from error


def understood(where: str, answer: object, kind: Any) -> Any:
    """An answer as records of ``kind``; raises BadInput where it is malformed, such as that of another version."""
    import msgspec

    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise BadInput(
            f"{where}: its answer cannot be read: {error} (is it vsched, and of this version, {__version__}?)"
        ) from None


async def page_of(daemon: ApiClient, path: str, kind: Any) -> Any:
    """A page of a daemon as records of ``kind``.

    Raises Idle where the page is empty because the daemon decides nothing, and what ``understood`` raises.
    """
    found = await daemon.get(path)
    if not found:
        await expect_leader(daemon)
    return understood(daemon.connection.server, found, kind)


async def expect_leader(daemon: ApiClient) -> None:
    """Raise Idle where a daemon decides nothing; call it after an empty answer."""
    from vsched.kube.errors import Forbidden, NotFound

    with suppress(Forbidden, NotFound):  # a client that may not read the overview still gets its empty answer
        expect_role(daemon.connection.server, (await daemon.get("/overview")).get("role", ""))


def expect_role(where: str, role: str) -> None:
    """Raise Idle unless a daemon of this role decides; an empty role passes."""
    from vsched.web.snapshots import idle_of

    if role and (idle := idle_of(role)):
        raise Idle(f"{where}: {idle}")


def explained_error(target: DaemonTarget, error: ApiError | Unavailable, *, known: bool = False) -> VschedError:
    """The error to show for a client's error; with ``known`` the daemon has answered before."""
    from vsched.kube.errors import ApiError, Forbidden, NotFound, ServerError, Unauthorized, UnexpectedAnswer

    where = address_of(target)
    match error:
        case Unauthorized():
            return BadInput(f"{where}: does not know who asks: {error.message} ({LETTING_IN})")
        case Forbidden():
            return BadInput(f"{where}: {error.message} ({PERMITTING})")
        case NotFound() if _serves_not(error):
            return BadInput(f"{where}: serves no {error.where.rpartition(' ')[2]} (is it vsched, and of this version?)")
        case NotFound():
            return Unknown(error.message)
        case UnexpectedAnswer():
            return BadInput(f"{where}: {error.message.partition(': is the server URL')[0]} (is it vsched?)")
        case ServerError():
            return Unavailable(f"{where}: {error.message}")
        case ApiError():
            return BadInput(f"{where}: {error.code}: {error.message}")
    return Unavailable(f"{where}: {_why_silent(where, error, known)}")


def _serves_not(error: NotFound) -> bool:
    """Whether the path is unknown, and not the name asked about: a daemon words the latter in another way."""
    return bool(error.reason) or error.message.removeprefix("404: ") in ("Not Found", "404 page not found")


def _why_silent(where: str, error: Unavailable, known: bool) -> str:
    """What happened, and what to do about it; no advice about flags where the daemon has answered before."""
    import aiohttp

    text, cause = str(error), error.__cause__
    words = text.split(": ", 2)[-1] if text.startswith(where) else text
    if isinstance(cause, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {_without_advice(words)} ({TRUSTING})"
    if isinstance(cause, aiohttp.ClientConnectorSSLError):
        return f"{_without_advice(words)} (does it serve plain http:// there?)"
    if isinstance(cause, aiohttp.ClientConnectorDNSError):
        return f"there is no host of that name ({REACHING})"
    if isinstance(cause, aiohttp.ClientConnectorError) and isinstance(cause.os_error, ConnectionRefusedError):
        return "nobody listens there" if known else f"nobody listens there ({REACHING})"
    if known:
        return words
    broken = isinstance(cause, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
    if broken and not isinstance(cause, aiohttp.ClientConnectorError) and where.startswith("http://"):
        return f"{words} (does it serve https:// there?)"
    return f"{words} ({REACHING})"


def _without_advice(words: str) -> str:
    """The text without the client's advice, which is about kubeconfigs."""
    return words.partition("; check certificate-authority")[0]


# -- connecting


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
        raise BadInput(f"--daemon {target.daemon!r}: expected a URL such as {DEFAULT_DAEMON}, or host:port")
    if url.user is not None or url.password is not None:
        raise BadInput("--daemon: has a name or a password in it (expected --daemon-token-file FILE)")
    return text.rstrip("/")


def connection_to(target: DaemonTarget) -> Connection:
    """How to connect to a daemon; raises BadInput where the flags are wrong."""
    from vsched.kube.connection import Connection
    from vsched.kube.credentials import Credentials, FixedHeaders, TokenFile

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
            raise BadInput(f"--daemon-{name}: {server} is reached without TLS (expected --daemon https://…)")
    return Connection(server, credentials=credentials, source="--daemon")


def _tls(target: DaemonTarget) -> ssl.SSLContext:
    import ssl

    if (target.cert_file is None) is not (target.key_file is None):
        raise BadInput("--daemon-cert-file and --daemon-key-file are needed together")
    try:
        context = ssl.create_default_context(cafile=target.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise BadInput(f"--daemon-ca-file {target.ca_file}: {_reason(error)} (expected a PEM file)") from None
    if target.cert_file is not None and target.key_file is not None:
        try:
            context.load_cert_chain(target.cert_file, target.key_file)
        except (OSError, ssl.SSLError) as error:
            raise BadInput(
                f"--daemon-cert-file {target.cert_file}, --daemon-key-file {target.key_file}: {_reason(error)}"
                " (expected a certificate and its key as PEM files)"
            ) from None
    return context


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
