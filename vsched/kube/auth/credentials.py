"""Who we are to an API server: the headers that say so, renewed when they run out or are refused.

One class a way of authenticating. Client certificates are not here: they belong to the TLS context (``tls``).
"""

from __future__ import annotations

import asyncio
import shutil
import ssl
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec

from vsched.clock import Clock, SystemClock
from vsched.errors import BadInput, Unavailable
from vsched.files import content
from vsched.kube.errors import one_line
from vsched.kube.words import auth as words

Headers = Sequence[tuple[str, str]]


class Credentials(Protocol):
    """The interface that a client calls before each request."""

    async def headers(self) -> Headers:
        """The headers to send now."""
        ...

    async def refresh(self, refused: Headers) -> bool:
        """Renew headers that the server refused; returns whether there are other headers to try now."""
        ...


class FixedHeaders:
    """Headers that never change: none, a token in the file itself, or a user name and a password."""

    def __init__(self, headers: Headers = ()) -> None:
        self._headers = tuple(headers)

    async def headers(self) -> Headers:
        return self._headers

    async def refresh(self, refused: Headers) -> bool:
        return False


def bearer(token: str) -> tuple[str, str]:
    """The header of a bearer token; one that cannot be sent is refused."""
    if not token.isascii() or any(ord(letter) <= 32 for letter in token):
        raise BadInput(words.TOKEN_CANNOT_BE_SENT)
    return "Authorization", f"Bearer {token}"


def basic(username: str, password: str) -> tuple[str, str]:
    """The header of a name and a password."""
    return "Authorization", "Basic " + b64encode(f"{username}:{password}".encode()).decode()


class TokenFile:
    """A token in a file that another process rotates, as the kubelet does for service accounts."""

    def __init__(
        self, path: Path, more: Headers = (), *, reread_seconds: float = 10.0, clock: Clock | None = None
    ) -> None:
        self._path = path
        self._more = tuple(more)
        self._reread_seconds = reread_seconds
        self._clock = clock or SystemClock()
        self._headers = self._read()
        self._read_at = self._clock.monotonic()

    def _read(self) -> Headers:
        try:
            token = content(self._path).decode("utf-8").strip()
        except BadInput as error:
            raise BadInput(words.token_file(error)) from error
        except UnicodeDecodeError:
            raise BadInput(words.token_not_utf_8(self._path)) from None
        if not token:
            raise BadInput(words.token_is_empty(self._path))
        return (bearer(token), *self._more)

    def _reread(self) -> None:
        self._read_at = self._clock.monotonic()
        try:
            self._headers = self._read()
        except BadInput:
            # The file is being rotated: the current token is most likely still valid, and the next read will succeed.
            return

    async def headers(self) -> Headers:
        if self._clock.monotonic() - self._read_at >= self._reread_seconds:
            self._reread()
        return self._headers

    async def refresh(self, refused: Headers) -> bool:
        self._reread()
        return self._headers != refused


class PluginLimits(msgspec.Struct, frozen=True):
    """When and for how long a plugin may run."""

    skew_seconds: float = 60.0
    """A token is renewed this long before it runs out, or at nine tenths of its life if that is later."""
    pause_seconds: float = 10.0
    """At least this long between two runs, whatever the server says."""
    timeout_seconds: float = 60.0
    recheck_seconds: float = 60.0
    """How often providers are asked that do not state when their token expires."""


class Obtained(msgspec.Struct, frozen=True):
    """The credentials that a plugin returned."""

    authorization: str | None
    expires_at: float | None
    """Seconds since the epoch."""
    certificate: tuple[str, str] | None
    """Files of a client certificate and its key."""


class PluginCredentials:
    """Credentials from an exec plugin or an auth-provider of a kubeconfig, through kubernetes_asyncio."""

    def __init__(
        self,
        where: str,
        config: dict[str, Any],
        more: Headers = (),
        *,
        tls: ssl.SSLContext | None = None,
        limits: PluginLimits | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._where = where
        self._config = config
        self._more = tuple(more)
        self._tls = tls
        self._limits = limits or PluginLimits()
        self._clock = clock or SystemClock()
        self._lock = asyncio.Lock()
        self._headers: Headers | None = None
        self._renew_at: float | None = None
        self._asked_at: float | None = None
        self._failure = ""

    async def headers(self) -> Headers:
        if self._headers is None:
            async with self._lock:
                if self._headers is None:
                    return await self._first()
        elif self._due():
            async with self._lock:
                if self._due():
                    # What is in hand still works for a while, or else the server will refuse it and ``refresh`` tell.
                    with suppress(Unavailable):
                        await self._renew()
        return self._headers

    async def _first(self) -> Headers:
        if self._failure and self._recent:
            raise Unavailable(self._failure)
        return await self._renew()

    @property
    def _recent(self) -> bool:
        """Whether the plugin was run a moment ago."""
        asked_at = self._asked_at
        return asked_at is not None and self._clock.monotonic() - asked_at < self._limits.pause_seconds

    def _due(self) -> bool:
        return self._renew_at is not None and self._clock.now() >= self._renew_at and not self._recent

    async def refresh(self, refused: Headers) -> bool:
        async with self._lock:
            if self._headers == refused and not self._recent:
                await self._renew()
            return self._headers != refused

    async def _renew(self) -> Headers:
        self._asked_at = self._clock.monotonic()
        try:
            got = await self._obtain()
        except Unavailable as error:
            self._failure = str(error)
            raise
        self._failure = ""
        authorization = (("Authorization", got.authorization),) if got.authorization else ()
        self._headers = (*authorization, *self._more)
        self._renew_at = self._when_to_renew(got.expires_at)
        return self._headers

    async def _obtain(self) -> Obtained:
        try:
            seconds = self._limits.timeout_seconds
            async with asyncio.timeout(seconds + STOP_SECONDS):
                got = await ask_plugin(stopped_in_time(self._config, seconds))
            if got.certificate and self._tls:
                self._tls.load_cert_chain(*got.certificate)
        except TimeoutError:
            raise Unavailable(words.no_credentials_in_time(self._where, seconds)) from None
        except (OSError, ValueError, KeyError, TypeError, AssertionError, RuntimeError) as error:
            raise Unavailable(words.no_credentials(self._where, _reason(error))) from error
        if not got.authorization and not got.certificate:
            raise Unavailable(words.neither_token_nor_certificate(self._where))
        return got

    def _when_to_renew(self, expires_at: float | None) -> float | None:
        now = self._clock.now()
        if expires_at is not None:
            return max(expires_at - self._limits.skew_seconds, now + 0.9 * (expires_at - now))
        # A plugin that states no expiry is run again only when the server refuses its credentials.
        return None if "exec" in self._config["users"][0]["user"] else now + self._limits.recheck_seconds


STOP_SECONDS = 2.0
"""How long a plugin that is stopped may take to end."""


def stopped_in_time(config: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The configuration with its exec plugin run under ``timeout``, where this machine has that command.

    When the library stops waiting for a plugin that hangs, the plugin keeps running; ``timeout`` ends it.
    """
    guard = shutil.which("timeout")
    users = [
        {**entry, "user": {**entry["user"], "exec": _guarded(entry["user"]["exec"], guard, seconds)}}
        if guard and isinstance(entry.get("user"), dict) and isinstance(entry["user"].get("exec"), dict)
        else entry
        for entry in config.get("users") or ()
    ]
    return {**config, "users": users}


def _guarded(plugin: dict[str, Any], guard: str, seconds: float) -> dict[str, Any]:
    if not shutil.which(str(plugin.get("command") or "")):
        return plugin  # the library's own complaint is the clearer one
    arguments = [f"--kill-after={STOP_SECONDS / 2:g}", f"{seconds:g}", plugin["command"], *(plugin.get("args") or ())]
    return {**plugin, "command": guard, "args": arguments}


async def ask_plugin(config: dict[str, Any]) -> Obtained:
    """Ask the plugin or provider of a kubeconfig that holds one context."""
    # Loading this library takes most of a second and 70 MB, so it is loaded only when needed.
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import ConfigException, load_kube_config_from_dict

    target = Configuration()
    try:
        loader = await load_kube_config_from_dict(config, client_configuration=target)
    except ConfigException as error:
        if str(error).startswith(words.PROCESS_STOPPED):
            raise TimeoutError from error
        raise ValueError(_reason(error)) from error
    expiry = getattr(loader, "exec_plugin_expiry", None)
    return Obtained(
        authorization=target.api_key.get("BearerToken"),
        expires_at=expiry.timestamp() if expiry is not None else None,
        certificate=(target.cert_file, target.key_file) if target.cert_file and target.key_file else None,
    )


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        named = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{named}"
    return one_line(str(error)) or type(error).__name__
