"""Errors of asking a daemon: what happened and what a user can do about it, in one clear line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vsched.cli.ask.target import DaemonTarget, address_of
from vsched.errors import BadInput, Unavailable, VschedError

if TYPE_CHECKING:  # imported where a client is made, so that --help does not load it
    from vsched.kube.errors import ApiError, NotFound

REACHING = (
    "is vsched running there? --daemon URL says where; "
    "kubectl -n vsched port-forward svc/vsched-leader 8080 leads there"
)
LETTING_IN = "--daemon-token-file FILE, or --daemon-cert-file and --daemon-key-file, say who you are"
PERMITTING = "a role with nonResourceURLs gives it, or --allow-user and --allow-group of vsched run"
TRUSTING = "--daemon-ca-file FILE names its CA, --daemon-server-name NAME the name on its certificate"


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
            return BadInput(f"{where}: does not know the caller: {error.message} ({LETTING_IN})")
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
        return f"unknown host ({REACHING})"
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
