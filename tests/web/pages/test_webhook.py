"""The validating webhook, asked as the API server asks, and as nobody should."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from yarl import URL

from tests.support.parties import amounts, bucket, party, world
from vsched.arbitrator import words as arbitrator_words
from vsched.arbitrator.admission import problems
from vsched.mirror.ingest.words import groups as groups_words
from vsched.model import words as model_words
from vsched.model.arbitration.records import ARBITRATOR_GROUP, ARBITRATOR_VERSION, Bucket, Claim
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.web.pages.admission import MOST_PROBLEMS
from vsched.web.pages.webhook import PATH, webhook_routes
from vsched.web.serve.server import serving
from vsched.web.serve.tls import ReloadingContext
from vsched.web.words import answers as words

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "kube" / "data"
TOTAL = "cpu=10 memory=10Gi pods=110"
TOO_LARGE = 64 << 10


class Rules:
    """The real rules, in a cluster of ten cpus: ``b`` reserves 6, the quota of ``a`` allows 8."""

    def __init__(self) -> None:
        self.problem = ""
        parties = [party("a", quota="cpu=8"), party("b", reserved="cpu=6")]
        arbitration = world(TOTAL, parties, buckets=[bucket("area")]).arbitration
        assert arbitration is not None
        self.arbitration = arbitration

    def ready(self) -> str:
        return self.problem

    def review(self, found: Claim | Bucket) -> tuple[str, ...]:
        return problems(found, self.arbitration, amounts(TOTAL))


@asynccontextmanager
async def webhook(rules: Rules | None = None) -> AsyncIterator[URL]:
    """The webhook, without TLS."""
    async with serving(webhook_routes(rules or Rules(), TOO_LARGE), "127.0.0.1:0", "--webhook-address") as port:
        yield URL(f"http://127.0.0.1:{port}{PATH}")


async def post(url: URL, body: object, content_type: str = "application/json") -> tuple[int, Any]:
    """Code and JSON; bytes are sent as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": content_type}
    async with aiohttp.ClientSession() as session, session.post(url, data=data, headers=headers) as answer:
        return answer.status, json.loads(await answer.read())


def made(kind: str = "Consumer", **fields: Any) -> dict[str, Any]:
    """An object as it comes in a review; ``spec`` and ``metadata`` may be given."""
    metadata: dict[str, Any] = {"name": "defaults", "uid": "u", **fields.pop("metadata", {})}
    if kind == "Consumer":
        metadata["namespace"] = "a"
    return {"apiVersion": ARBITRATOR_VERSION, "kind": kind, "metadata": metadata, **fields}


def review(
    found: dict[str, Any] | None, old: dict[str, Any] | None = None, operation: str = "CREATE", **fields: Any
) -> dict[str, Any]:
    """An AdmissionReview as the API server sends it."""
    kind = (found or old or {}).get("kind", "Consumer")
    plural = f"{kind.lower()}s"
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": ARBITRATOR_GROUP, "version": "v1", "kind": kind},
        "resource": {"group": ARBITRATOR_GROUP, "version": "v1", "resource": plural},
        "name": "defaults",
        "operation": operation,
        "userInfo": {"username": "admin"},
        "object": found,
        "oldObject": old,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        **fields,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


GOOD = made(spec={"hard": {"cpu": 8}, "reserved": {"requests.cpu": "4"}})
BAD = made(spec={"hard": {"cpu": "1"}, "reserved": {"cpu": "2"}})
TOO_LATE = made(spec=BAD["spec"], metadata={"finalizers": [], "deletionTimestamp": "2026-01-01T00:00:00Z"})


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(review(GOOD), id="a good Consumer"),
        pytest.param(review(made()), id="a Consumer without a spec"),
        pytest.param(review(made("Bucket", spec={"weight": 3, "reserved": {"cpu": "4"}})), id="a good bucket"),
        pytest.param(review(GOOD, BAD, "UPDATE"), id="a bad one that becomes good"),
        pytest.param(review(BAD, BAD, "UPDATE"), id="a bad one that stays as it is"),
        pytest.param(review(TOO_LATE, BAD, "UPDATE"), id="a bad one that loses its finalizers"),
        pytest.param(review(BAD, GOOD, "UPDATE", subResource="status"), id="what is written to the status"),
        pytest.param(review(None, BAD, "DELETE"), id="a bad one that is deleted"),
    ],
)
async def test_what_is_allowed(asked: dict[str, Any]) -> None:
    async with webhook() as url:
        code, answer = await post(url, asked)
    assert code == 200
    assert answer == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": asked["request"]["uid"], "allowed": True},
    }


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        pytest.param(
            review(BAD),
            "spec.reserved.cpu: " + arbitrator_words.above_bound("2", "1", "spec.hard"),
            id="beyond its own limit",
        ),
        pytest.param(
            review(BAD, GOOD, "UPDATE"),
            "spec.reserved.cpu: " + arbitrator_words.above_bound("2", "1", "spec.hard"),
            id="becoming bad",
        ),
        pytest.param(
            review(made(spec={"hard": {"cpu": 9}, "reserved": {"cpu": 9}})),
            "spec.hard.cpu: 9 (expected at most 8, the ResourceQuota of the namespace); "
            "spec.reserved.cpu: 9 (expected to be within the cluster's 10, of which others reserve 6)",
            id="several things at once",
        ),
        pytest.param(
            review(made(spec={"hard": {"services": "9"}})),
            "Consumer a/defaults: "
            + groups_words.cannot_be_divided("spec", "hard.services", groups_words.DIVIDED_RESOURCES),
            id="a name that is not known",
        ),
        pytest.param(
            review(made(spec={"reserved": {"cpu": "lots"}})),
            "Consumer a/defaults: spec.reserved.cpu: " + model_words.not_a_quantity("lots"),
            id="no quantity",
        ),
        pytest.param(
            review(made(spec={"weight": "3"})),
            'Consumer a/defaults: spec.weight: must be an integer, is "3"',
            id="no number",
        ),
        pytest.param(
            review(made("Bucket", spec={"reserved": {"cpu": "5"}})),
            "spec.reserved.cpu: 5 (expected to be within the cluster's 10, of which others reserve 6)",
            id="a bucket",
        ),
        pytest.param(
            review(made("Bucket", spec={"weight": 0})),
            "Bucket defaults: spec.weight: 0 (expected 1 to 2147483647)",
            id="a bucket without weight",
        ),
    ],
)
async def test_what_is_denied_and_why(asked: dict[str, Any], message: str) -> None:
    async with webhook() as url:
        code, answer = await post(url, asked, "application/json; charset=utf-8")
    assert code == 200
    assert answer["response"] == {
        "uid": asked["request"]["uid"],
        "allowed": False,
        "status": {"status": "Failure", "code": 403, "reason": "Forbidden", "message": message},
    }


async def test_a_message_has_an_end() -> None:
    names = [f"example.com/r{number:02}" for number in range(MOST_PROBLEMS + 5)]
    spec = {"hard": dict.fromkeys(names, 1), "reserved": dict.fromkeys(names, 2)}
    async with webhook() as url:
        _, answer = await post(url, review(made(spec=spec)))
    message = answer["response"]["status"]["message"]
    assert message.count("expected at most 1") == MOST_PROBLEMS
    assert message.endswith(f"; and {len(names) * 2 - MOST_PROBLEMS} more")


async def test_the_namespace_of_the_request_counts_where_the_object_names_none() -> None:
    found = made(spec={"hard": {"cpu": 9}})
    del found["metadata"]["namespace"]
    async with webhook() as url:
        _, answer = await post(url, review(found, namespace="a"))
    assert arbitrator_words.THE_QUOTA in answer["response"]["status"]["message"]


VERSION_1_BETA = {**review(GOOD), "apiVersion": "admission.k8s.io/v1beta1"}
ANOTHER_KIND = review(GOOD, kind={"kind": "Pod"})


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(b"", "the body is not JSON", id="nothing"),
        pytest.param(b"{", "the body is not JSON", id="cut off"),
        pytest.param(b'{"x":' + b"[" * 20_000, "the body is not JSON", id="too deep"),
        pytest.param([], "must be an object, is a list", id="a list"),
        pytest.param({}, "missing required field apiVersion", id="no review"),
        pytest.param(
            VERSION_1_BETA, "admission.k8s.io/v1beta1 AdmissionReview (expected admission.k8s.io/v1", id="old"
        ),
        pytest.param({**review(GOOD), "request": None}, "request: missing", id="no request"),
        pytest.param({**review(GOOD), "request": {}}, "request: object missing required field uid", id="no uid"),
        pytest.param(review(GOOD, kind="Consumer"), "request.kind: must be an object", id="no kind"),
        pytest.param(ANOTHER_KIND, words.bad_kind("Pod"), id="another kind"),
        pytest.param(review(None), "request.object: missing", id="no object"),
        pytest.param(json.dumps(review(GOOD)).encode().replace(b"defaults", b"\xff"), "'utf-8'", id="no text"),
    ],
)
async def test_malformed_bodies_get_one_line_that_says_why(body: object, says: str) -> None:
    async with webhook() as url:
        code, answer = await post(url, body)
    assert code == 400
    assert list(answer) == ["error"]
    assert says in answer["error"]
    assert "\n" not in answer["error"]


async def test_other_refusals() -> None:
    rules = Rules()
    async with webhook(rules) as url:
        code, answer = await post(url, review(GOOD), "application/yaml")
        assert (code, answer) == (415, {"error": "Content-Type: 'application/yaml' (expected application/json)"})
        code, answer = await post(url, b" " * (TOO_LARGE + 1))
        assert (code, answer) == (413, {"error": words.body_too_large("64Ki")})
        rules.problem = "the mirror is not complete"
        assert await post(url, review(GOOD)) == (503, {"error": "the mirror is not complete"})


async def test_the_api_server_asks_and_tells_whoever_wrote_it() -> None:
    """By the sample's own configuration, at another address, over TLS."""
    configuration, _ = yaml.safe_load_all((ROOT / "config" / "webhook.yaml").read_text(encoding="utf-8"))
    asked = configuration["webhooks"][0]
    configuration["webhooks"] = [asked]
    asked["failurePolicy"] = "Fail"
    certificate = ReloadingContext(DATA / "server.pem", DATA / "server.key")
    routes = webhook_routes(Rules())
    async with (
        Cluster(0, settings=ClusterSettings(controllers=None)) as cluster,
        serving(routes, "127.0.0.1:0", "--webhook-address", certificate.context) as port,
        aiohttp.ClientSession() as session,
    ):
        authority = b64encode((DATA / "authority.pem").read_bytes()).decode()
        asked["clientConfig"] = {"url": f"https://127.0.0.1:{port}{PATH}", "caBundle": authority}
        cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}, configuration])

        async def write(verb: str, found: dict[str, Any], name: str = "") -> tuple[int, Any]:
            url = f"{cluster.url}/apis/{ARBITRATOR_VERSION}/namespaces/a/consumers{name}"
            async with session.request(verb, url, json=found) as answer:
                return answer.status, await answer.json()

        code, answer = await write("POST", made(spec={"reserved": {"cpu": "5"}}))
        assert code == 403
        assert answer["message"] == (
            'admission webhook "consumers.vsched.io" denied the request: spec.reserved.cpu: 5 '
            "(expected to be within the cluster's 10, of which others reserve 6)"
        )
        code, answer = await write("POST", made(spec={"reserved": {"cpu": "4"}}))
        assert code == 201
        code, answer = await write("PUT", {**answer, "spec": {"hard": {"cpu": "9"}}}, "/defaults")
        assert code == 403
        assert arbitrator_words.THE_QUOTA in answer["message"]


def test_the_sample_configuration_asks_for_what_is_there() -> None:
    configuration, _ = yaml.safe_load_all((ROOT / "config" / "webhook.yaml").read_text(encoding="utf-8"))
    assert (configuration["apiVersion"], configuration["kind"]) == (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
    )
    asked, _ = configuration["webhooks"]
    assert asked["clientConfig"]["service"]["path"] == PATH
    assert asked["admissionReviewVersions"] == ["v1"]
    assert asked["sideEffects"] == "None"
    (rule,) = asked["rules"]
    assert rule["apiGroups"] == [ARBITRATOR_GROUP]
    assert rule["resources"] == ["consumers", "buckets"]
    assert sorted(rule["operations"]) == ["CREATE", "UPDATE"]
