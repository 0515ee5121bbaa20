"""One HTTP service outside the cluster's API: requests in, bodies out, everything bounded, every error one line."""

from __future__ import annotations

import ssl
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import aiohttp
import msgspec
import orjson
from yarl import URL

from vsched.clock import monotonic
from vsched.collectors import words
from vsched.collectors.secrets import Keeper
from vsched.collectors.source import SourceError
from vsched.errors import UNREADABLE, BadInput, why_unreadable
from vsched.kube.auth.tls import Material, client_context
from vsched.kube.client import ApiClient
from vsched.kube.errors import looks_like_html, one_line, phrase, retry_after_seconds
from vsched.kube.silence import NO_ANSWER, why_no_answer
from vsched.kube.unpacking import BadPacking, Unpacked
from vsched.settings.metrics import Hidden, MetricsSource, Tls
from vsched.settings.reach import ANYTHING, Reach
from vsched.version import user_agent

ANSWER_BYTES = 32 << 20
"""The longest answer that is accepted, enough for hundreds of thousands of nodes."""
CONNECTIONS = 4
"""The number of concurrent requests: a source has other clients to serve."""
ERROR_BYTES = 4096
"""How many bytes of an error answer are read."""
REFUSED = (401, 403)


class Login:
    """Our credentials for a service: a bearer token, a user name with a password, or none."""

    def __init__(self, source: MetricsSource, client: ApiClient, reach: Reach) -> None:
        address = URL(source.address)
        username, password = address.user or "", Hidden(address.password or "")
        if source.kind == "elasticsearch" and source.elasticsearch.username:
            username, password = source.elasticsearch.username, source.elasticsearch.hidden_password
        elif source.basicauth:
            username, password = source.username, source.hidden_password
        self._username = username
        self._password = Keeper(password, client, reach)
        self._token = Keeper(source.hidden_token, client, reach)

    async def headers(self) -> dict[str, str]:
        """The header to send, if any; raises SourceError."""
        token = await self._token.text()
        if token:
            return {"Authorization": f"Bearer {token}"}
        if self._username:
            login = f"{self._username}:{await self._password.text()}"
            return {"Authorization": f"Basic {b64encode(login.encode()).decode()}"}
        return {}

    def refused(self) -> None:
        """The service refused the credentials: read them again for the next request."""
        self._password.forget()
        self._token.forget()


class Endpoint:
    """A service at an address."""

    def __init__(self, source: MetricsSource, client: ApiClient, reach: Reach = ANYTHING) -> None:
        self.address = str(URL(source.address).with_user(None)).rstrip("/")
        """The address without credentials, so that it can be shown."""
        self._tls = source.tls
        self._reach = reach
        self._login = Login(source, client, reach)
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the connections; the next request reads the certificates again."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def post(self, path: str, body: bytes, content_type: str, seconds: float) -> bytes:
        """The body of a successful answer; raises SourceError."""
        where, began = f"{self.address}{path}", monotonic()
        headers = {**await self._login.headers(), "Content-Type": content_type}
        try:
            async with self._opened().post(
                URL(where, encoded=True),
                data=body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=seconds),
                allow_redirects=False,
            ) as response:
                if response.status != 200:
                    raise self._refusal(where, response, await _reason(response))
                return await _bounded(where, response)
        except NO_ANSWER as error:
            raise SourceError(f"{where}: {why_no_answer(error, monotonic() - began)}") from error

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=CONNECTIONS, ssl=_context(self.address, self._tls, self._reach) or True
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                headers={
                    "Accept": "application/json",
                    "Accept-Encoding": "identity",
                    "User-Agent": user_agent(),
                },
            )
        return self._session

    def _refusal(self, where: str, response: aiohttp.ClientResponse, body: bytes) -> SourceError:
        code = response.status
        if code in REFUSED:
            self._login.refused()
        if 300 <= code < 400:
            return SourceError(words.redirects(where, code, one_line(response.headers.get("Location", "nowhere"))))
        reason = phrase(code) if looks_like_html(response.headers, body) else reason_in(body) or phrase(code)
        return SourceError(f"{where}: {code}: {reason}", retry_after_seconds(response.headers.get("Retry-After")))


async def _reason(response: aiohttp.ClientResponse) -> bytes:
    """The beginning of the body of an error; nothing where it cannot be unpacked, as the code says enough."""
    with suppress(BadPacking):
        return (await Unpacked(response).next())[:ERROR_BYTES]
    return b""


async def _bounded(where: str, response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    unpacked = Unpacked(response)
    while chunk := await unpacked.next():
        size += len(chunk)
        if size > ANSWER_BYTES:
            raise SourceError(words.answer_too_long(where, ANSWER_BYTES >> 20))
        parts.append(chunk)
    body = b"".join(parts)
    if looks_like_html(response.headers, body):
        raise SourceError(words.web_page(where))
    return body


def _context(address: str, tls: Tls, reach: Reach) -> ssl.SSLContext | None:
    """The TLS context for a service; None for plain http. Raises SourceError."""
    if not address.startswith("https:"):
        return None
    material = Material(
        authority_file=Path(tls.ca_file) if tls.ca_file else None,
        certificate_file=Path(tls.cert_file) if tls.cert_file else None,
        key_file=Path(tls.key_file) if tls.key_file else None,
        verify=not tls.insecure_skip_verify,
        below=reach.directories,
    )
    try:
        return client_context(address, material)
    except BadInput as error:
        raise SourceError(str(error)) from error


def reason_in(body: bytes) -> str:
    """The reason in the body of an error answer, as Prometheus and Elasticsearch write it, or any other text."""
    try:
        answer = orjson.loads(body)
    except UNREADABLE:
        return one_line(body.decode("utf-8", "replace"))
    for key in ("error", "reason", "message"):
        if isinstance(answer, dict):
            answer = answer.get(key, answer)
    return one_line(answer if isinstance(answer, str) else orjson.dumps(answer).decode())


T = TypeVar("T")


def decoded(decoder: msgspec.json.Decoder[T], where: str, body: bytes) -> T:
    """Decode the body of a success; raises SourceError if it does not have the expected form."""
    try:
        return decoder.decode(body)
    except UNREADABLE as error:
        raise misread(where, error, body) from error


def misread(where: str, error: Exception, body: bytes) -> SourceError:
    """The error for a success whose body does not have the expected form."""
    start = one_line(body[:80].decode("utf-8", "replace"))
    return SourceError(words.unreadable(where, one_line(why_unreadable(error)), start))
