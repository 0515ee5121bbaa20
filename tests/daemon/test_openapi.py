"""The OpenAPI document of a running daemon: every route is in it, and every answer is as it says."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest
from jsonschema import Draft202012Validator

from tests.support.answering import CERTIFICATES
from tests.support.asking import trusting
from tests.support.running import gang, has_listed, node, nodes_of, pod
from tests.support.serving import serving
from tests.support.vcjob_cluster import task, vcjob
from tests.support.waiting import until
from vsched.daemon.access_options import AccessOptions
from vsched.sim.cluster import Cluster

pytestmark = pytest.mark.real_time

Obj = dict[str, Any]
JSON = "application/json"
TLS = {"tls_cert_file": CERTIFICATES / "server.pem", "tls_key_file": CERTIFICATES / "server.key"}
QUESTIONS = {
    "/explain/{namespace}/{name}": ["/explain/default/waits?seconds=1", "/explain/default/runs-0?kind=pod"],
    "/explain-queue/{name}": ["/explain-queue/default?changes=false"],
    "/pods": ["/pods?job=default/waits", "/pods?node=n1"],
    "/devices": ["/devices", "/devices?only=resources", "/devices?node=n1"],
    "/queue-history": ["/queue-history", "/queue-history?span=week&most=1&points=5"],
    "/usage-history": ["/usage-history?since=60&by=queue"],
    "/page/{file}": ["/page/index.html", "/page/page.css"],
    "/dump": ["/dump?anonymous=true"],
    "/debug/profile": ["/debug/profile?seconds=0.05"],
}
"""What is asked of paths that cannot be asked as they are, or that answer several questions."""
MISTAKES = {
    "/explain/{namespace}/{name}": "/explain/default/nobody",
    "/explain-queue/{name}": "/explain-queue/none",
    "/pods": "/pods",
    "/devices": "/devices?node=none",
    "/queue-history": "/queue-history?span=year",
    "/recordings/{number}": "/recordings/1",
    "/debug/profile": "/debug/profile?seconds=60",
    "/usage-history": "/usage-history?by=team",
}
"""Questions without an answer."""


class Asked(NamedTuple):
    """A daemon with all its addresses, and its document."""

    session: aiohttp.ClientSession
    document: Obj
    urls: dict[str, str]
    """By the flag that names the address."""


@asynccontextmanager
async def asked(headers: dict[str, str] | None = None, **options: Any) -> AsyncIterator[Asked]:
    """A daemon that serves whatever a daemon can serve; one gang runs, one waits."""
    objects = [*gang("runs", 2), *gang("waits", 9)]
    addresses = {"healthz_address": "127.0.0.1:0", "webhook_address": "127.0.0.1:0"}
    async with (
        Cluster([node("n1")], manifests=objects) as cluster,
        serving(cluster.url, arbitrate=True, **addresses, **TLS, **options) as (daemon, _),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusting()), headers=headers) as session,
    ):
        await until(lambda: has_listed(daemon) and len(nodes_of(cluster, "runs")) == 2)
        schemes = {flag: "http" if flag == "--healthz-address" else "https" for flag in daemon.ports}
        urls = {flag: f"{schemes[flag]}://127.0.0.1:{port}" for flag, port in daemon.ports.items()}
        async with session.get(f"{urls['--listen-address']}/openapi.json") as answer:
            assert answer.status == 200
            document = await answer.json()
        yield Asked(session, document, urls)


def operations(document: Obj) -> Iterator[tuple[str, str, Obj]]:
    """Path, method and operation."""
    for path, item in document["paths"].items():
        yield from ((path, method, operation) for method, operation in item.items())


def strict(schema: Any) -> Any:
    """The schema, where objects have no fields besides."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if schema.get("type") == "object" and "properties" in schema else {}
    return {key: strict(value) for key, value in schema.items()} | closed


def problems(document: Obj, schema: Obj, found: Any, *, exact: bool) -> list[str]:
    """Where an answer is not as the schema says."""
    whole = {**schema, "components": document["components"]}
    errors = Draft202012Validator(strict(whole) if exact else whole).iter_errors(found)
    return [f"{error.json_path}: {error.message[:200]}" for error in errors]


async def test_every_route_is_in_the_document_with_what_it_answers() -> None:
    async with asked() as (session, document, urls), session.get(f"{urls['--listen-address']}/") as answer:
        listed = await answer.json()
    by_flag: dict[str, set[str]] = {}
    for path, _, operation in operations(document):
        by_flag.setdefault(operation["tags"][0], set()).add(path)
    assert by_flag == {
        "--listen-address": {"/", *listed},
        "--healthz-address": {"/livez", "/readyz", "/healthz"},
        "--webhook-address": {"/validate/consumers", "/validate/jobs", "/mutate/jobs"},
    }
    assert {tag["name"] for tag in document["tags"]} == set(by_flag)
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(ids)) == len(ids)
    for path, _, operation in operations(document):
        answers = {code: answer["content"] for code, answer in operation["responses"].items()}
        assert all("schema" in content[JSON] for content in answers.values() if JSON in content), path
        named = [each["name"] for each in operation["parameters"] if each["in"] == "path"]
        assert named == re.findall(r"{(\w+)}", path)
    Draft202012Validator.check_schema({"$defs": document["components"]["schemas"]})


async def test_answers_are_as_the_document_says() -> None:
    wrong, looked_at = [], 0
    async with asked() as (session, document, urls):
        for path, method, operation in operations(document):
            if method != "get" or path == "/recordings/{number}":
                continue
            [(media, content)] = operation["responses"]["200"]["content"].items()
            for question in QUESTIONS.get(path, [path]):
                how = "HEAD" if path == "/events" else "GET"  # which does not end
                async with session.request(how, f"{urls[operation['tags'][0]]}{question}") as answer:
                    looked_at += 1
                    assert answer.status == 200, question
                    assert media in (answer.content_type, "*/*"), question
                    if media == JSON:
                        found = problems(document, content["schema"], await answer.json(), exact=True)
                        wrong += [f"{question}: {problem}" for problem in found]
    assert wrong == []
    assert looked_at > 25


async def test_mistakes_are_answered_as_the_document_says() -> None:
    async with asked() as (session, document, urls):
        for path, question in MISTAKES.items():
            operation = document["paths"][path]["get"]
            async with session.get(f"{urls['--listen-address']}{question}") as answer:
                assert answer.status in (400, 404), question
                schema = operation["responses"]["default"]["content"][JSON]["schema"]
                assert problems(document, schema, await answer.json(), exact=False) == [], question


async def test_what_others_ask_is_answered_as_the_document_says() -> None:
    consumer = {
        "apiVersion": "kube-arbitrator.incubator.k8s.io/v1",
        "kind": "Consumer",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"hard": {"cpu": "1"}, "reserved": {"cpu": "2"}},
    }
    asking = {**pod("waits-0", "waits"), "metadata": {"name": "waits-0", "namespace": "default"}}
    new_job = vcjob("j", task("worker", 1))
    statuses = []
    async with asked() as (session, document, urls):
        for path, body in (
            ("/extender/filter", {"Pod": asking, "NodeNames": ["n1"]}),
            ("/extender/bind", {}),
            ("/validate/consumers", review(consumer)),
            ("/validate/jobs", review(new_job)),
            ("/mutate/jobs", review(new_job)),
        ):
            operation = document["paths"][path]["post"]
            async with session.post(f"{urls[operation['tags'][0]]}{path}", json=body) as answer:
                found = operation["responses"]
                schema = found.get(str(answer.status), found["default"])["content"][JSON]["schema"]
                assert problems(document, schema, await answer.json(), exact=True) == [], path
                statuses.append(answer.status)
    assert statuses[1:] == [404, 200, 200, 200]


def review(obj: Obj) -> Obj:
    group, _, version = obj["apiVersion"].partition("/")
    kind = {"group": group, "version": version, "kind": obj["kind"]}
    request = {"uid": "u", "kind": kind, "operation": "CREATE", "namespace": "default", "object": obj}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


async def test_who_may_ask_is_in_the_document(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("secret-of-sixteen,alice,1\n")
    access = AccessOptions(authentication="token-file", token_file=tokens)
    async with asked(headers={"Authorization": "Bearer secret-of-sixteen"}, access=access) as (_, document, _):
        pass
    either: list[Obj] = [{"token": []}, {"certificate": []}]
    assert document["paths"]["/queues"]["get"]["security"] == either
    assert document["paths"]["/"]["get"]["security"] == [{}, *either]  # the page is for everybody
    assert "security" not in document["paths"]["/livez"]["get"]
    assert set(document["components"]["securitySchemes"]) == {"token", "certificate"}
