"""A small client for tests of the API server: paths and dicts in, status and dict out."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import aiohttp

Obj = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
SCHEDULING = "/apis/scheduling.volcano.sh/v1beta1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, read to its end."""

    code: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def message(self) -> str:
        return str(self.body["message"])

    @property
    def reason(self) -> str | None:
        reason: str | None = self.body.get("reason")
        return reason

    @property
    def version(self) -> int:
        return int(self.body["metadata"]["resourceVersion"])

    @property
    def plain(self) -> Obj:
        """The object without managedFields, which only an object that is read by itself shows."""
        return {**self.body, "metadata": {k: v for k, v in self.body["metadata"].items() if k != "managedFields"}}

    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.body["items"]]


class Api:
    """Requests to one server."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def request(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", **{key.replace("_", "-"): value for key, value in headers.items()}}
        async with self.session.request(method, path, data=data, headers=sent) as response:
            raw = await response.read()
            is_json = response.content_type == "application/json"
            return Reply(response.status, json.loads(raw) if is_json else raw.decode(), dict(response.headers))

    async def get(self, path: str, **headers: str) -> Reply:
        return await self.request("GET", path, **headers)

    async def post(self, path: str, body: Any, **headers: str) -> Reply:
        return await self.request("POST", path, body, **headers)

    async def put(self, path: str, body: Any) -> Reply:
        return await self.request("PUT", path, body)

    async def delete(self, path: str, body: Any = None) -> Reply:
        return await self.request("DELETE", path, body)

    async def patch(self, path: str, body: Any, kind: str = MERGE) -> Reply:
        return await self.request("PATCH", path, body, Content_Type=kind)

    async def made(self, path: str, body: Obj) -> Obj:
        """Creates an object that must be accepted."""
        reply = await self.post(path, body)
        assert reply.code == 201, reply.body
        made: Obj = reply.body
        return made

    async def pod(self, name: str, *, bound: bool = False, **metadata: Any) -> Obj:
        """A stored pod."""
        made = await self.made(PODS, pod(name, **metadata))
        if bound:
            assert (await self.bind(name)).code == 201
        return made

    async def bind(self, name: str, node: str = "n1", **more: Any) -> Reply:
        metadata = {"name": name, **more}
        return await self.post(
            f"{PODS}/{name}/binding", {"metadata": metadata, "target": {"kind": "Node", "name": node}}
        )

    def watch(self, path: str) -> Stream:
        return Stream(self.session, path)


class Stream:
    """A watch as an async context manager; ``next`` is its next event."""

    def __init__(self, session: aiohttp.ClientSession, path: str) -> None:
        self._request = session.get(path)

    async def __aenter__(self) -> Stream:
        self._response = await self._request.__aenter__()
        assert self._response.status == 200, await self._response.text()
        return self

    async def __aexit__(self, *error: object) -> None:
        self._response.close()

    async def next(self, seconds: float = 60.0) -> Obj:
        line = await asyncio.wait_for(self._response.content.readline(), seconds)
        assert line, "the watch has ended"
        event: Obj = json.loads(line)
        return event

    async def take(self, count: int) -> list[tuple[str, str]]:
        """The next events as (type, name)."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]

    async def ended(self, seconds: float = 60.0) -> bool:
        return await asyncio.wait_for(self._response.content.readline(), seconds) == b""

    async def is_silent(self, seconds: float = 0.1) -> bool:
        try:
            return not await asyncio.wait_for(self._response.content.readline(), seconds)
        except TimeoutError:
            return True


def pod(name: str = "", *, spec: Obj | None = None, **metadata: Any) -> Obj:
    """A pod as a client posts it."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    body = {"containers": [container], **(spec or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": body}


def queue(name: str, **spec: Any) -> Obj:
    api_version = "scheduling.volcano.sh/v1beta1"
    return {"apiVersion": api_version, "kind": "Queue", "metadata": {"name": name}, "spec": spec}
