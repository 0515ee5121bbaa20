"""Calls webhooks over HTTPS: their addresses, trust and timeouts.

Only loopback addresses are called: the address in a URL, or those in the EndpointSlices or Endpoints of a Service.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import ssl
from base64 import b64decode
from collections.abc import Iterator, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

import aiohttp
import orjson

from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Obj
from vsched.sim.store.store import Store
from vsched.sim.webhooks.mutating import patch_of
from vsched.sim.webhooks.validating import Reviews, WebhookCall, not_called, review_of, verdict
from vsched.together import together

log = logging.getLogger(__name__)

MOST_ANSWER_BYTES = 1024 * 1024
_MOST_AT_ONCE = 32
_DEFAULT_SECONDS = 10
_SERVICE_NAME = "kubernetes.io/service-name"


class NotCalled(Exception):
    """A call failed; users see the message."""


class WebhookCaller:
    """Calls webhooks, until it is closed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: aiohttp.ClientSession | None = None
        self._turn = asyncio.Semaphore(_MOST_AT_ONCE)

    async def close(self) -> None:
        """Closes the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def ask(self, questions: Sequence[WebhookCall], reviews: Reviews) -> None:
        """Calls all of them at once, and raises the first refusal, in their order, as a Failure."""
        said = await together(*(self._ask(question, reviews) for question in questions))
        for refusal in said:
            if refusal is not None:
                raise refusal
        reviews.passed.update(question.change.key for question in questions if question.patch_key is None)

    async def _ask(self, question: WebhookCall, reviews: Reviews) -> Failure | None:
        review = review_of(question)
        try:
            async with self._turn:
                answer = await self._post(question, review)
            verdict(question, review, answer, reviews)
            if question.patch_key is not None:
                reviews.patches[question.patch_key] = patch_of(answer)
        except Failure as refusal:
            return refusal
        except NotCalled as error:
            return _passed_over(question, f"failed to call webhook: {error}", reviews)
        except ValueError as error:
            return _passed_over(question, str(error), reviews)
        return None

    async def _post(self, question: WebhookCall, review: Obj) -> object:
        client, seconds = question.hook["clientConfig"], question.hook.get("timeoutSeconds") or _DEFAULT_SECONDS
        shown, url, server = _target(self._store, client)
        shown = f'Post "{shown}?timeout={seconds}s"'
        try:
            async with self._opened().post(
                f"{url}?timeout={seconds}s",
                data=orjson.dumps(review),
                headers={"Content-Type": "application/json", "Host": server},
                ssl=trusting(client.get("caBundle") or ""),
                server_hostname=server.rpartition(":")[0].strip("[]"),
                timeout=aiohttp.ClientTimeout(total=seconds),
                allow_redirects=False,
            ) as response:
                body = await _read(response)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise NotCalled(f"{shown}: {_why(error)}") from None
        if response.status != 200:
            text = body[:256].decode("utf-8", "replace").strip()
            why = f'an error on the server ("{text}") has prevented the request from succeeding'
            raise NotCalled(f"{why} (code {response.status})")
        try:
            answer: object = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise NotCalled(f"couldn't get version/kind; json parse error: {error}") from None
        return answer

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=_MOST_AT_ONCE))
        return self._session


def _passed_over(question: WebhookCall, why: str, reviews: Reviews) -> Failure | None:
    """The result of a call that failed: a refusal, or None if the failure policy is Ignore."""
    if not question.fails_open:
        return not_called(question, why)
    log.warning("webhook %s cannot be asked, its policy is to go on: %s", question.name, why)
    if question.patch_key is not None:
        reviews.patches[question.patch_key] = []
    return None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = b""
    async for part in response.content.iter_any():
        body += part
        if len(body) > MOST_ANSWER_BYTES:
            raise ValueError(f"the answer has more than {MOST_ANSWER_BYTES} bytes")
    return body


@lru_cache(maxsize=64)
def trusting(bundle: str) -> ssl.SSLContext:
    """Trusts the authorities of a base64 bundle, or those of this machine if it is empty."""
    if not bundle:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cadata=b64decode(bundle).decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise ValueError("unable to load root certificates: unable to parse bytes as PEM block") from None


def _target(store: Store, client: Obj) -> tuple[str, str, str]:
    """A webhook's URL for messages, the one to call, and the host and port for TLS and the Host header."""
    if client.get("url"):
        url = str(client["url"])
        parts = urlsplit(url)
        _check_loopback(parts.hostname or "", url)
        return url, url, f"{parts.netloc}" if parts.port else f"{parts.netloc}:443"
    service = client["service"]
    name, namespace, port = service["name"], service["namespace"], service.get("port") or 443
    path = service.get("path") or "/"
    server = f"{name}.{namespace}.svc:{port}"
    shown = f"https://{server}{path}"
    for address, at in sorted(_endpoints(store, namespace, name, port)):
        host = f"[{address}]" if ":" in address else address
        _check_loopback(address, shown)
        return shown, f"https://{host}:{at}{path}", server
    raise NotCalled(f'Post "{shown}": no endpoints available for service "{name}"')


def _check_loopback(host: str, url: str) -> None:
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        why = f"{host} is no address of this machine, and the embedded cluster calls no others"
        raise NotCalled(f'Post "{url}": {why}')


def _endpoints(store: Store, namespace: str, name: str, port: int) -> Iterator[tuple[str, int]]:
    """The addresses and ports behind one port of a Service."""
    registry = store.registry
    service = store.get(registry.resource("services"), namespace, name)
    if service is None:
        raise NotCalled(f'service "{name}" not found')
    ports = service.obj["spec"].get("ports") or ()
    wanted = next((each.get("name") or "" for each in ports if each["port"] == port), None)
    if wanted is None:
        raise NotCalled(f'no service port {port} found for service "{name}"')
    for record in store.items(registry.resource("discovery.k8s.io/endpointslices"), namespace):
        if (record.obj["metadata"].get("labels") or {}).get(_SERVICE_NAME) != name:
            continue
        ready = [
            each for each in record.obj.get("endpoints") or () if (each.get("conditions") or {}).get("ready", True)
        ]
        addresses = [address for each in ready for address in each.get("addresses") or ()]
        yield from _pairs(addresses, record.obj.get("ports") or (), wanted)
    endpoints = store.get(registry.resource("endpoints"), namespace, name)
    for subset in (endpoints.obj.get("subsets") or ()) if endpoints is not None else ():
        yield from _pairs([each["ip"] for each in subset.get("addresses") or ()], subset.get("ports") or (), wanted)


def _pairs(addresses: Sequence[str], ports: Sequence[Obj], wanted: str) -> Iterator[tuple[str, int]]:
    for port in ports:
        if (port.get("name") or "") == wanted:
            yield from ((address, port["port"]) for address in addresses)


def _why(error: Exception) -> str:
    """The message for an error, similar to the real server's."""
    if isinstance(error, TimeoutError):
        return "context deadline exceeded"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"tls: failed to verify certificate: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"dial tcp {error.host}:{error.port}: connect: {(error.strerror or str(error)).lower()}"
    return str(error) or type(error).__name__
