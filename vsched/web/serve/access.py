"""Authentication by client certificate or bearer token, and authorization.

``tokens`` and ``reviews`` have the implementations. Refusals reveal nothing about other users.
"""

from __future__ import annotations

import ssl
from collections import Counter
from collections.abc import Mapping, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any, NamedTuple, Protocol

from aiohttp import web

from vsched.clock import Clock
from vsched.errors import VschedError
from vsched.kube.errors import one_line
from vsched.web.words import access as words
from vsched.writes.limits import TokenBucket

LINES_PER_SECOND, LINES_AT_ONCE = 1.0, 10.0
"""Log lines about refusals, which could otherwise fill a disk."""
SHOWN_LETTERS = 120
"""The longest name or path of a client in a message."""


class Person(NamedTuple):
    """A user, as Kubernetes describes one."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class AccessRefusal(VschedError):
    """Why a request is refused, with its HTTP status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Tokens(Protocol):
    """An authenticator of bearer tokens."""

    async def owner(self, token: str) -> Person | None:
        """The user of a token, None for an unknown one; raises Refusal where that cannot be found out."""
        ...


class Permissions(Protocol):
    """An authorizer."""

    async def allows(self, person: Person, method: str, path: str) -> bool:
        """Whether the user may; raises Refusal where that cannot be found out."""
        ...


class AllowList:
    """Allows the named users and members of the named groups; everybody where none is named."""

    def __init__(self, users: Sequence[str] = (), groups: Sequence[str] = ()) -> None:
        self._users = frozenset(users)
        self._groups = frozenset(groups)

    async def allows(self, person: Person, method: str, path: str) -> bool:
        if not self._users and not self._groups:
            return True
        return person.name in self._users or not self._groups.isdisjoint(person.groups)


class LogLine(Protocol):
    """Writes a line to the log."""

    def __call__(self, event: str, **fields: object) -> None: ...


class Access:
    """Refuses requests of unknown users, and of users without the right."""

    def __init__(
        self, tokens: Tokens | None, permissions: Permissions, clock: Clock, log: LogLine, *, certificates: bool
    ) -> None:
        self._tokens = tokens
        self._permissions = permissions
        self._clock = clock
        self._log = log
        self._lines = TokenBucket(LINES_PER_SECOND, LINES_AT_ONCE, clock.monotonic)
        self._ways = [
            *((words.CLIENT_CERTIFICATE,) if certificates else ()),
            *((words.BEARER_TOKEN,) if tokens else ()),
        ]
        self._certificates = certificates
        self.refused: Counter[str] = Counter()
        """How many requests were refused, by status."""

    async def check(self, request: web.BaseRequest) -> None:
        """Return if the request is allowed; raises Refusal."""
        person: Person | None = None
        try:
            person = await self._who(request)
            if not await self._permissions.allows(person, request.method.lower(), request.path):
                path = shown(request.path)
                raise AccessRefusal(403, words.may_not(shown(person.name), request.method.lower(), path))
        except AccessRefusal as refusal:
            self.refused[str(refusal.status)] += 1
            if self._lines.try_take():
                self._log(
                    "request refused",
                    status=refusal.status,
                    user=shown(person.name) if person is not None else "",
                    path=shown(request.path),
                    remote=request.remote,
                )
            raise

    def headers(self, refusal: AccessRefusal) -> Mapping[str, str]:
        """The headers of an answer to a refused request."""
        match refusal.status:
            case 401:
                return {"WWW-Authenticate": 'Bearer realm="vsched"'}
            case 429 | 503:
                return {"Retry-After": "1"}
        return {}

    async def _who(self, request: web.BaseRequest) -> Person:
        if self._certificates:
            person = person_of(request.get_extra_info("peercert"), self._clock.now())
            if person is not None:
                return person
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        token = token.strip()
        if self._tokens is not None and scheme.lower() == "bearer" and token:
            owner = await self._tokens.owner(token) if token.isascii() else None
            if owner is not None:
                return owner
            raise AccessRefusal(401, words.TOKEN_NOT_KNOWN)
        raise AccessRefusal(401, f"expected {' or '.join(self._ways)}")


def is_from_here(request: web.BaseRequest) -> bool:
    """Whether the request comes from this machine for this machine, as through ``kubectl port-forward``.

    The requested host counts, too: another site in a local browser may have a name that resolves to this machine.
    """
    host = request.host.rpartition(":")[0] if not request.host.endswith("]") and ":" in request.host else request.host
    return _is_loopback(request.remote or "") and (host == "localhost" or _is_loopback(host.strip("[]")))


def _is_loopback(address: str) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback


def person_of(certificate: Mapping[str, Any] | None, now: float) -> Person | None:
    """The user of a certificate: its common name, and its organizations as groups. None without one or if expired.

    The handshake has verified it, but connections may outlive certificates.
    """
    if not certificate or ssl.cert_time_to_seconds(certificate["notAfter"]) <= now:
        return None
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    name = next((value for key, value in pairs if key == "commonName"), "")
    groups = tuple(value for key, value in pairs if key == "organizationName")
    return Person(name, groups) if name else None


def shown(text: str) -> str:
    """A client's text, shortened to one line."""
    line = one_line(text)
    return line if len(line) <= SHOWN_LETTERS else f"{line[:SHOWN_LETTERS]}…"
