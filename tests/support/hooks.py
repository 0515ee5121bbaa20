"""Webhooks that tests serve, and their configurations."""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

Obj = dict[str, Any]


DATA = Path(__file__).parents[1] / "kube" / "data"
"""A certificate for 127.0.0.1, its key and its authority."""


HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


NAME = "checks.vsched.example"


def bundle(path: Path = DATA / "authority.pem") -> str:
    return b64encode(path.read_bytes()).decode()


@dataclass
class Hook:
    """A webhook that keeps what it is asked and answers as it is told."""

    port: int = 0
    asked: list[Obj] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    response: Obj = field(default_factory=lambda: {"allowed": True})
    reply: Callable[[Obj], Awaitable[web.Response]] | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/check"

    def deny(self, **status: Any) -> None:
        self.response = {"allowed": False, "status": status}

    async def answer(self, request: web.Request) -> web.Response:
        review = await request.json()
        self.asked.append(review)
        self.paths.append(request.path_qs)
        if self.reply is not None:
            return await self.reply(review)
        return web.json_response(answered(review, **self.response))

    def deny_bindings_to(self, *nodes: str, code: int = 422) -> None:
        """Refuse bindings to these nodes, as admission that checks what a node is allowed to run."""

        async def reply(review: Obj) -> web.Response:
            node = review["request"]["object"]["target"]["name"]
            status = {"code": code, "message": f"{node} is not for such pods"}
            return web.json_response(answered(review, allowed=node not in nodes, status=status))

        self.reply = reply

    def seen(self) -> list[tuple[str, str]]:
        """What was asked about: operation, resource and subresource."""
        requests = [each["request"] for each in self.asked]
        return [
            (each["operation"], "/".join(filter(None, (each["resource"]["resource"], each.get("subResource")))))
            for each in requests
        ]


def answered(review: Obj, **response: Any) -> Obj:
    kind = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview"}
    return {**kind, "response": {"uid": review["request"]["uid"], **response}}


@asynccontextmanager
async def webhook() -> AsyncIterator[Hook]:
    """A webhook, served for as long as the block takes."""
    hook = Hook()
    runner = await serve(hook, DATA / "server.pem", DATA / "server.key")
    try:
        yield hook
    finally:
        await runner.cleanup()


async def serve(hook: Hook, certificate: Path, key: Path) -> web.AppRunner:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    app = web.Application()
    app.router.add_post("/check", hook.answer)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    hook.port = runner.addresses[0][1]
    return runner


def rule(resources: str = "configmaps", operations: str = "*", groups: str = "*", **more: Any) -> Obj:
    given = {"operations": operations.split(), "resources": resources.split(), "apiGroups": groups.split(",")}
    return {**given, "apiVersions": ["*"], **more}


def configuration(hook: Hook, *rules: Obj, name: str = NAME, **more: Any) -> Obj:
    """A configuration of one webhook."""
    webhook = {
        "name": name,
        "clientConfig": {"url": hook.url, "caBundle": bundle()},
        "rules": list(rules) or [rule()],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    return {**kind, "metadata": {"name": name}, "webhooks": [webhook]}


MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


def mutating(hook: Hook, *rules: Obj, name: str = NAME, **more: Any) -> Obj:
    """A configuration of one mutating webhook."""
    return {**configuration(hook, *rules, name=name, **more), "kind": "MutatingWebhookConfiguration"}


def patch_of(*operations: Obj) -> Obj:
    """An answer that allows the write with a JSON patch."""
    return {"allowed": True, "patchType": "JSONPatch", "patch": b64encode(json.dumps(operations).encode()).decode()}
