"""Errors of asking a daemon: what happened and what a user can do about it, in one clear line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vsched.client import words
from vsched.client.target import DaemonTarget, address_of
from vsched.errors import BadInput, Unavailable, VschedError

if TYPE_CHECKING:  # imported where a client is made, so that --help does not load it
    from vsched.kube.errors import ApiError, NotFound


class Unknown(BadInput):
    """The daemon does not know this name; the text is the daemon's own."""


class Idle(Unavailable):
    """The daemon answers but decides nothing: another one leads, or it is starting."""


def explained_error(target: DaemonTarget, error: ApiError | Unavailable, *, known: bool = False) -> VschedError:
    """The error to show for a client's error; with ``known`` the daemon has answered before."""
    from vsched.kube.errors import ApiError, Forbidden, NotFound, ServerError, Unauthorized, UnexpectedAnswer

    where = address_of(target)
    match error:
        case Unauthorized():
            return BadInput(words.unknown_caller(where, error.message))
        case Forbidden():
            return BadInput(f"{where}: {error.message} ({words.PERMITTING})")
        case NotFound() if _serves_not(error):
            return BadInput(words.serves_no(where, error.where.rpartition(" ")[2]))
        case NotFound():
            return Unknown(error.message)
        case UnexpectedAnswer():
            message = error.message.partition(words.IS_THE_SERVER_URL)[0]
            return BadInput(words.no_daemon(where, message))
        case ServerError():
            return Unavailable(f"{where}: {error.message}")
        case ApiError():
            return BadInput(f"{where}: {error.code}: {error.message}")
    return Unavailable(f"{where}: {_why_silent(where, error, known)}")


def _serves_not(error: NotFound) -> bool:
    """Whether the path is unknown, and not the name asked about: a daemon words the latter in another way."""
    return bool(error.reason) or error.message.removeprefix("404: ") in ("Not Found", words.PAGE_NOT_FOUND)


def _why_silent(where: str, error: Unavailable, known: bool) -> str:
    """What happened, and what to do about it; no advice about flags where the daemon has answered before."""
    import aiohttp

    text, cause = str(error), error.__cause__
    why = text.split(": ", 2)[-1] if text.startswith(where) else text
    if isinstance(cause, aiohttp.ClientConnectorCertificateError):
        return words.not_trusted(_without_advice(why))
    if isinstance(cause, aiohttp.ClientConnectorSSLError):
        return words.answers_without_tls(_without_advice(why))
    if isinstance(cause, aiohttp.ClientConnectorDNSError):
        return words.UNKNOWN_HOST
    if isinstance(cause, aiohttp.ClientConnectorError) and isinstance(cause.os_error, ConnectionRefusedError):
        return words.NOBODY_LISTENS if known else words.NOBODY_LISTENS_REACHING
    if known:
        return why
    broken = isinstance(cause, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
    if broken and not isinstance(cause, aiohttp.ClientConnectorError) and where.startswith("http://"):
        return words.answers_over_tls(why)
    return f"{why} ({words.REACHING})"


def _without_advice(why: str) -> str:
    """The text without the client's advice, which is about kubeconfigs."""
    return why.partition(words.CHECK_AUTHORITY)[0]
