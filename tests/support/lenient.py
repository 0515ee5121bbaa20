"""An API server that lets everything in: objects are bytes, nothing of them is looked at, every write is a success."""

from __future__ import annotations

import asyncio
import re
from typing import Self

import orjson
from aiohttp import web

from vsched.daemon.watches import FOLLOWED, followed_workloads
from vsched.settings.workloads import built_in_table

SERVED = FOLLOWED | followed_workloads(built_in_table())
PATHS = {kind: followed.resource.path() for kind, followed in SERVED.items()}
_BINDING = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/binding")


class LenientServer:
    """Lists, watches and bindings of whatever it is given."""

    def __init__(self) -> None:
        self.url = ""
        self.bound: dict[str, str] = {}
        """Nodes by ``namespace/name`` of pods, as they were asked for."""
        self.writes: list[str] = []
        self._version = 1000
        self._objects: dict[str, dict[str, bytes]] = {path: {} for path in PATHS.values()}
        self._watchers: dict[str, set[asyncio.Queue[bytes]]] = {path: set() for path in PATHS.values()}
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def put(self, kind: str, key: str, data: bytes) -> None:
        """An object as it is; the text ``"resourceVersion":"7"`` in it becomes a new version."""
        self._version += 1
        data = data.replace(b'"resourceVersion":"7"', b'"resourceVersion":"%d"' % self._version)
        self._objects[PATHS[kind]][key] = data
        self._tell(PATHS[kind], b"ADDED", data)

    def drop(self, kind: str, key: str) -> None:
        self._tell(PATHS[kind], b"DELETED", self._objects[PATHS[kind]].pop(key))

    def _tell(self, path: str, what: bytes, data: bytes) -> None:
        for queue in self._watchers[path]:
            queue.put_nowait(b'{"type":"%s","object":%s}\n' % (what, data))

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if request.method == "GET" and path in self._objects:
            return await self._watch(request) if request.query.get("watch") else self._list(path)
        if request.method == "GET":
            return web.json_response({"kind": "Anything", "resources": [], "metadata": {}})
        self.writes.append(f"{request.method} {request.raw_path}")
        found = _BINDING.fullmatch(path)
        if found is not None:
            key = f"{found[1]}/{found[2]}"
            self.bound[key] = str(orjson.loads(await request.read())["target"]["name"])
            if key in self._objects[PATHS["Pod"]]:
                pod = orjson.loads(self._objects[PATHS["Pod"]][key])
                pod["spec"]["nodeName"] = self.bound[key]
                pod["metadata"]["resourceVersion"] = "7"
                self.put("Pod", key, orjson.dumps(pod))
        return web.json_response({"kind": "Status", "status": "Success", "metadata": {}}, status=201)

    def _list(self, path: str) -> web.Response:
        head = b'{"kind":"List","metadata":{"resourceVersion":"%d"},"items":[' % self._version
        body = head + b",".join(self._objects[path].values()) + b"]}"
        return web.Response(body=body, content_type="application/json")

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._watchers[request.path].add(queue)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        try:
            await response.prepare(request)
            while True:
                await response.write(await queue.get())
        finally:
            self._watchers[request.path].discard(queue)
