"""Asking a running daemon: the flags that say where it listens and who we are, and one clear line where it says no."""

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

if TYPE_CHECKING:  # what a client needs is imported where one is made, so that --help does not load it
    import ssl

    from vsched.kube.client import ApiClient
    from vsched.kube.connection import Connection
    from vsched.kube.errors import ApiError, NotFound

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T")

DEFAULT_DAEMON = "http://127.0.0.1:8080"
"""Where ``vsched run`` listens on this machine, and ``kubectl port-forward`` leads to."""

REACHING = (
    "is vsched running there? --daemon URL says where; "
    "kubectl -n vsched port-forward svc/vsched-leader 8080 leads there"
)
LETTING_IN = "--daemon-token-file FILE, or --daemon-cert-file and --daemon-key-file, say who you are"
PERMITTING = "a role with nonResourceURLs gives it, or --allow-user and --allow-group of vsched run"
TRUSTING = "--daemon-ca-file FILE names its authority, --daemon-server-name NAME the name on its certificate"

PATIENCE_SECONDS = 30.0
"""For an answer: a session may be under way, and an explanation tries what would help."""

NAMED = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
"""Where somebody says which daemon is meant."""

_FILE = click.Path(path_type=Path, dir_okay=False)


class Unknown(BadInput):
    """The daemon knows nothing of that name; the text is its own."""


class Idle(Unavailable):
    """The daemon answers, and decides nothing at the moment: another one leads, or it has just begun."""


class Target(NamedTuple):
    """A running daemon, and how to be let in."""

    daemon: str = DEFAULT_DAEMON
    """Its ``--listen-address``, as a URL or as host and port."""
    token_file: Path | None = None
    ca_file: Path | None = None
    """Whom its certificate is from, where this machine does not know them anyway."""
    cert_file: Path | None = None
    key_file: Path | None = None
    server_name: str = ""
    """The name on its certificate, where it is not the one that it is reached by."""
    named: bool = True
    """Whether anybody said so, by flag or environment; else it is where daemons usually are."""


# -- flags


def asking(command: C) -> C:
    """The flags that say which daemon is asked, and as whom: the command gets them as one value, ``target``."""
    return _with_target(command, DEFAULT_DAEMON, "a running daemon's --listen-address")


def asking_if_named(command: C) -> C:
    """The same for commands that can do without a daemon: ``target`` is None where nobody names one."""
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


def _target(given: str, default: str, flags: dict[str, Any]) -> Target | None:
    """What the flags say; an empty address is as none, like empty variables."""
    source_of = click.get_current_context().get_parameter_source
    daemon = given or default
    if not daemon:
        useless = [name for name in flags if source_of(f"daemon_{name}") is ParameterSource.COMMANDLINE]
        if useless:
            told = ", ".join(f"--daemon-{name.replace('_', '-')}" for name in useless)
            raise BadInput(f"{told}: for which daemon? (expected --daemon URL)")
        return None
    return Target(daemon, **flags, named=bool(given) and source_of("daemon") in NAMED)


# -- asking


@asynccontextmanager
async def daemon_client(target: Target, patience_seconds: float = PATIENCE_SECONDS) -> AsyncIterator[ApiClient]:
    """A client of the daemon that asks once; raises BadInput where the flags cannot be used."""
    from vsched.kube.client import ApiClient, ClientSettings

    settings = ClientSettings(timeout_seconds=patience_seconds, connect_seconds=min(5.0, patience_seconds), attempts=1)
    async with ApiClient(connection_to(target), settings) as client:
        yield client


def ask_daemon(target: Target, question: Callable[[ApiClient], Awaitable[T]]) -> T:
    """The answer of a running daemon; raises what ``asked`` raises."""
    return asyncio.run(asked(target, question))


async def asked(target: Target, question: Callable[[ApiClient], Awaitable[T]]) -> T:
    """The answer of a running daemon, for those who have an event loop.

    Raises Unknown where it knows of no such thing, Unavailable where it does not answer or cannot now, and BadInput
    where it does not let us in or is no vsched: each of one clear line.
    """
    from vsched.kube.errors import ApiError

    async with daemon_client(target) as client:
        try:
            return await question(client)
        except Idle:
            raise
        except (ApiError, Unavailable) as error:
            raise told(target, error) from error


def understood(where: str, answer: object, kind: Any) -> Any:
    """An answer as records of ``kind``; raises BadInput where that is not what it is, as of another version."""
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
    """Raise Idle unless a daemon of this role decides; where none is said, nothing is."""
    from vsched.web.snapshots import idle_of

    if role and (idle := idle_of(role)):
        raise Idle(f"{where}: {idle}")


def told(target: Target, error: ApiError | Unavailable, *, known: bool = False) -> VschedError:
    """What a client's error means to a person who asks a daemon; one that is ``known`` has answered before."""
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
    """Whether the path is unknown rather than the thing that was asked about: no daemon words the latter like that."""
    return bool(error.reason) or error.message.removeprefix("404: ") in ("Not Found", "404 page not found")


def _why_silent(where: str, error: Unavailable, known: bool) -> str:
    """What happened, and what to do about it; nothing is wrong with the flags where it has answered before."""
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
    """Without the client's advice, which is about kubeconfigs."""
    return words.partition("; check certificate-authority")[0]


# -- connecting


def address_of(target: Target) -> str:
    """Where a daemon is, as a URL; host and port will do, and the port alone for one on this machine.

    Raises BadInput for what is no address.
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


def connection_to(target: Target) -> Connection:
    """How a daemon is reached; raises BadInput where the flags cannot be used."""
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


def _tls(target: Target) -> ssl.SSLContext:
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
