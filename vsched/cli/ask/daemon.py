"""Asking a running daemon: the flags for its address and our credentials, the client, and errors in one clear line."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from vsched import __version__
from vsched.cli.ask import words
from vsched.cli.ask.cluster import USUAL_CLUSTER, ClusterFlags
from vsched.cli.ask.errors import Idle, explained_error
from vsched.cli.ask.target import DEFAULT_DAEMON, DaemonTarget, connection_to
from vsched.errors import BadInput, Unavailable, VschedError, why_unreadable

if TYPE_CHECKING:  # imported where a client is made, so that --help does not load it
    from vsched.kube.client import ApiClient

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T")

PATIENCE_SECONDS = 30.0
"""How long an answer may take: a session may be in progress, and an explanation tries what would help."""

NAMED = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
"""The sources by which a user names a daemon."""

_FILE = click.Path(path_type=Path, dir_okay=False)


# -- flags


def daemon_flags(command: C) -> C:
    """Adds the flags for the daemon and the credentials; the command gets them as ``target``."""

    @functools.wraps(command)
    def with_target(**values: Any) -> Any:
        flags = {name: values.pop(f"daemon_{name}") for name in _FLAGS_HELP}
        return command(target=_target(values.pop("daemon"), flags), **values)

    made: Any = with_target
    for name, says_of_flag in reversed(_FLAGS_HELP.items()):
        flag = f"--daemon-{name.replace('_', '-')}"
        kind: Any = {"metavar": "NAME", "default": ""} if name == "server_name" else {"type": _FILE}
        made = click.option(flag, envvar=f"VSCHED_DAEMON_{name.upper()}", help=says_of_flag, **kind)(made)
    made = click.option(
        "--daemon",
        metavar="URL",
        default=DEFAULT_DAEMON,
        show_default=True,
        envvar="VSCHED_DAEMON",
        help="URL of a running daemon (its --listen-address)",
    )(made)
    found: C = made
    return found


_FLAGS_HELP = {
    "token_file": "file with the bearer token to send",
    "ca_file": "CA of its certificate, if it is a private one",
    "cert_file": "client certificate to send",
    "key_file": "key of --daemon-cert-file",
    "server_name": "name on its certificate, if it is reached by another name, as through a port-forward",
}


def _target(given: str, flags: dict[str, Any]) -> DaemonTarget:
    """The target that the flags name; an empty address names none."""
    source = click.get_current_context().get_parameter_source("daemon")
    return DaemonTarget(given or DEFAULT_DAEMON, **flags, named=bool(given) and source in NAMED)


# -- asking


@asynccontextmanager
async def daemon_client(target: DaemonTarget, patience_seconds: float = PATIENCE_SECONDS) -> AsyncIterator[ApiClient]:
    """A client of the daemon that does not retry; raises BadInput where the flags are wrong."""
    from vsched.kube.client import ApiClient, ClientSettings

    settings = ClientSettings(timeout_seconds=patience_seconds, connect_seconds=min(5.0, patience_seconds), attempts=1)
    async with ApiClient(connection_to(target), settings) as client:
        yield client


def ask_daemon(target: DaemonTarget, question: Callable[[ApiClient], Awaitable[T]]) -> T:
    """Ask a running daemon, outside of an event loop; raises what ``answer_of`` raises."""
    return asyncio.run(answer_of(target, question))


async def answer_of(target: DaemonTarget, question: Callable[[ApiClient], Awaitable[T]]) -> T:
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


def target_beside(cluster: ClusterFlags, target: DaemonTarget) -> DaemonTarget | None:
    """The daemon that a command asks which reads a cluster, too.

    None where only a cluster is named: the daemon on this machine may be of another one.
    """
    return target if target.named or cluster == USUAL_CLUSTER else None


async def answer_if_any(target: DaemonTarget | None, question: Callable[[ApiClient], Awaitable[T]]) -> T | None:
    """What a daemon answers; None without one, or where none was named and none answers. Else as ``answer_of``."""
    if target is None:
        return None
    try:
        return await answer_of(target, question)
    except VschedError:
        if target.named:
            raise
        return None


def decoded(where: str, answer: object, kind: Any) -> Any:
    """An answer as records of ``kind``; raises BadInput where it is malformed, such as that of another version."""
    import msgspec

    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        why = why_unreadable(error)
        asked = words.which_version(__version__)
        raise BadInput(words.answer_cannot_be_read(where, why, asked)) from None


async def page_of(daemon: ApiClient, path: str, kind: Any) -> Any:
    """A page of a daemon as records of ``kind``.

    Raises Idle where the page is empty because the daemon decides nothing, and what ``decoded`` raises.
    """
    found = await daemon.get(path)
    if not found:
        await expect_leader(daemon)
    return decoded(daemon.connection.server, found, kind)


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


# -- connecting
