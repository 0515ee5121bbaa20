"""The extender over HTTP, asked as kube-scheduler asks, and as nobody should."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from prometheus_client import CollectorRegistry
from yarl import URL

from tests.support.parties import amounts
from vsched.arbitrator.extender import ExtenderAnswer, Gate, PlacementRequest, PodState, Seen
from vsched.clock import FakeClock
from vsched.model import words as model_words
from vsched.model.arbitration.records import Award, Division
from vsched.web.findings import Findings
from vsched.web.pages.extender import ABSENT, Unseen, extender_routes
from vsched.web.pages.health import Health
from vsched.web.pages.routes import Sources, public_routes
from vsched.web.serve.bodies import RequestError
from vsched.web.serve.server import serving
from vsched.web.words import answers as words

ROOT = Path(__file__).parents[3]
ASKING = Path(__file__).parent / "asking_in_turn.py"
NAMES = ["n1", "n2", "n3"]
OVER = model_words.would_hold_too_much("namespace full", "4 cpu", "5")
TOO_LARGE = 4096
JSON = {"Content-Type": "application/json"}


class Books:
    """Namespace ``full`` holds all it may, others hold nothing and may hold anything."""

    def __init__(self) -> None:
        self.problem = ""
        self.asked: list[PlacementRequest] = []
        self.asked_again = asyncio.Event()
        self.unknown: set[str] = set()
        """Names of pods that do not exist."""
        self.gate = Gate(lambda namespace: amounts("cpu=4"), lambda uid: Seen(PodState.UNKNOWN))
        self.gate.use(Division({"full": Award(amounts("cpu=4"), amounts("cpu=4"))}, {}, {}), lends=True)

    def ready(self) -> str:
        return self.problem

    def judge(self, asking: PlacementRequest) -> ExtenderAnswer:
        self.asked.append(asking)
        if len(self.asked) > 1:
            self.asked_again.set()
        answer = self.gate.judge(asking, 0.0)
        return answer if asking.name in self.unknown else answer._replace(seen=True)


@asynccontextmanager
async def extender(books: Books | None = None, most_bytes: int = 1 << 24) -> AsyncIterator[URL]:
    """The extender alone, served on a free port."""
    async with serving(extender_routes(books or Books(), most_bytes), "127.0.0.1:0", "--listen-address") as port:
        yield URL(f"http://127.0.0.1:{port}/extender/")


async def post(url: URL, body: object, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    """Code and JSON; bytes are sent as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    said = JSON | (headers or {})
    async with aiohttp.ClientSession() as session, session.post(url, data=data, headers=said) as answer:
        return answer.status, json.loads(await answer.read())


def pod(namespace: str = "idle", cpu: str = "1", **fields: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": "p", "namespace": namespace, "uid": f"uid-{namespace}"},
        "spec": {"containers": [container], "schedulerName": "default-scheduler"},
        **fields,
    }


def node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"zone": "a"}}, "spec": {}, "status": {"allocatable": {"cpu": "4"}}}


NODES = {"metadata": {}, "items": [node(name) for name in NAMES]}


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param({"Nodes": None, "NodeNames": NAMES}, (None, NAMES), id="names, as with nodeCacheCapable"),
        pytest.param({"Nodes": NODES, "NodeNames": None}, (NODES, None), id="whole nodes"),
        pytest.param({"nodes": NODES}, (NODES, None), id="whole nodes in lower case"),
        pytest.param({"nodenames": NAMES}, (None, NAMES), id="names in lower case"),
        pytest.param({"nodeNames": NAMES}, (None, NAMES), id="names in camel case"),
        pytest.param({"NodeNames": []}, (None, []), id="no name"),
        pytest.param({}, (None, None), id="the pod alone"),
    ],
)
@pytest.mark.parametrize("key", ["Pod", "pod"])
async def test_every_node_passes_as_it_came(key: str, nodes: dict[str, Any], expected: tuple[Any, Any]) -> None:
    async with extender() as url:
        code, answer = await post(url / "filter", {key: pod(), **nodes})
    assert code == 200
    assert (answer.pop("Nodes"), answer.pop("NodeNames")) == expected
    assert answer == {"FailedNodes": {}, "FailedAndUnresolvableNodes": {}, "Error": ""}


@pytest.mark.parametrize(
    ("nodes", "left"),
    [
        pytest.param({"NodeNames": NAMES}, (None, []), id="names"),
        pytest.param({"Nodes": NODES}, ({"metadata": {}, "items": []}, None), id="whole nodes"),
    ],
)
async def test_no_node_passes_and_each_says_why(nodes: dict[str, Any], left: tuple[Any, Any]) -> None:
    async with extender() as url:
        code, answer = await post(url / "filter", {"Pod": pod("full"), **nodes})
    assert code == 200
    failed = dict.fromkeys(NAMES, OVER)
    assert (answer.pop("Nodes"), answer.pop("NodeNames")) == left
    assert answer == {"FailedNodes": failed, "FailedAndUnresolvableNodes": failed, "Error": ""}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(['a"b', "c\\d", "e\nf"], id="that JSON escapes"),
        pytest.param([",", '":"', "", "ä"], id="that look like JSON"),
        pytest.param(["n1"], id="one"),
        pytest.param([], id="none"),
    ],
)
async def test_odd_names_are_told_as_they_came(names: list[str]) -> None:
    async with extender() as url:
        _, passing = await post(url / "filter", {"Pod": pod(), "NodeNames": names})
        _, failing = await post(url / "filter", {"Pod": pod("full"), "NodeNames": names})
    assert passing["NodeNames"] == names
    assert failing["FailedNodes"] == failing["FailedAndUnresolvableNodes"] == dict.fromkeys(names, OVER)


async def test_a_pod_that_comes_without_nodes_is_refused_as_an_error() -> None:
    async with extender() as url:
        code, answer = await post(url / "filter", {"Pod": pod("full")})
    assert (code, answer["Error"], answer["FailedNodes"]) == (200, OVER, {})


async def test_what_a_pod_takes_is_counted_as_the_mirror_counts_it() -> None:
    books = Books()
    small, large = (
        {"name": name, "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "5", "example.com/x": "1"}}}
        for name, cpu in (("a", "1"), ("b", "3"))
    )
    spec = {"containers": [small], "initContainers": [large], "overhead": {"memory": "1Mi", "nvidia.com/gpu": "1"}}
    async with extender(books) as url:
        await post(url / "filter", {"Pod": pod(spec=spec), "NodeNames": NAMES})
    counted = "cpu=3 limits.cpu=5 memory=1Mi example.com/x=1 nvidia.com/gpu=1 pods=1"
    assert books.asked == [PlacementRequest("idle", "p", "uid-idle", amounts(counted))]


BAD_QUANTITY = pod(cpu="one")
WITHOUT_NAMESPACE = {"metadata": {"name": "p"}, "spec": {}}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(b"", "the body is not JSON", id="nothing"),
        pytest.param(b"{", "the body is not JSON", id="cut off"),
        pytest.param(b"[" * 200_000, "must be an object", id="a deep list"),
        pytest.param(b'{"x":' + b"[" * 200_000, "the body is not JSON", id="too deep"),
        pytest.param(
            b'{"Pod":{"metadata":{"namespace":"\xff"},"spec":{}}}', words.body_not_json("'utf-8'"), id="no text"
        ),
        pytest.param([], "must be an object, is a list", id="a list"),
        pytest.param({}, "Pod: missing", id="no pod"),
        pytest.param({"Pod": None, "NodeNames": NAMES}, "Pod: missing", id="a pod that is null"),
        pytest.param({"Pod": "p", "NodeNames": NAMES}, 'Pod (no name): must be an object, is "p"', id="no object"),
        pytest.param({"Pod": {"metadata": {}}}, "missing required field spec", id="a pod without a spec"),
        pytest.param({"Pod": WITHOUT_NAMESPACE}, "Pod p: metadata.namespace: missing", id="no namespace"),
        pytest.param({"Pod": BAD_QUANTITY}, "spec.containers[0].resources.requests.cpu: 'one'", id="no quantity"),
        pytest.param({"Pod": pod(spec={"containers": {}})}, "spec.containers: must be a list", id="no containers"),
        pytest.param({"Pod": pod(), "NodeNames": "n1"}, 'NodeNames: must be a list, is "n1"', id="names: a text"),
        pytest.param({"Pod": pod(), "NodeNames": ["n1", 2]}, "NodeNames[1]: must be a string", id="names: a number"),
        pytest.param({"Pod": pod(), "Nodes": []}, "Nodes: must be an object", id="nodes: a list"),
        pytest.param({"Pod": pod(), "Nodes": {"items": [{}]}}, "Nodes.items[0]: object missing", id="a nameless node"),
    ],
)
async def test_malformed_bodies_get_one_line_that_says_why(body: object, says: str) -> None:
    async with extender() as url:
        code, answer = await post(url / "filter", body)
    assert code == 400
    assert list(answer) == ["Error"]
    assert says in answer["Error"]
    assert "\n" not in answer["Error"]


async def test_without_an_answer_kube_scheduler_goes_by_its_own_configuration() -> None:
    books = Books()
    async with extender(books) as url:
        books.problem = "this process is a standby"
        assert await post(url / "filter", {"Pod": pod()}) == (503, {"Error": "this process is a standby"})
        books.problem = ""
        code, _ = await post(url / "filter", {"Pod": pod()})
    assert code == 200


@pytest.mark.parametrize("verb", sorted(ABSENT))
async def test_verbs_that_are_absent_say_so(verb: str) -> None:
    async with extender() as url:
        code, answer = await post(url / verb, {})
    assert code == 404
    assert answer == {"Error": f"/extender/{verb} is not offered: {ABSENT[verb]}"}


async def test_only_posts_are_answered() -> None:
    async with extender() as url, aiohttp.ClientSession() as session, session.get(url / "filter") as answer:
        assert answer.status == 405


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/json5"])
async def test_only_json_is_taken_and_only_by_that_name(kind: str) -> None:
    """What a page of another site can have a browser send without asking is none of these."""
    books = Books()
    async with extender(books) as url:
        code, answer = await post(url / "filter", {"Pod": pod()}, {"Content-Type": kind})
        passed, _ = await post(url / "filter", {"Pod": pod()}, {"Content-Type": "application/json; charset=utf-8"})
    assert passed == 200
    assert code == 415
    assert answer["Error"].endswith("(expected application/json)")
    assert len(books.asked) == 1


async def test_a_pod_that_does_not_exist_is_an_error_and_not_let_through() -> None:
    books = Books()
    books.unknown.add("p")
    async with extender(books) as url:
        code, answer = await post(url / "filter", {"Pod": pod(), "NodeNames": NAMES})
    assert code == 503
    assert answer["Error"] == words.pod_not_known("idle", "p", "uid-idle")


async def test_a_pod_that_is_seen_a_moment_later_is_judged_then() -> None:
    books = Books()
    books.unknown.add("p")

    async def appear() -> None:
        await books.asked_again.wait()
        books.unknown.clear()

    async with extender(books) as url, asyncio.TaskGroup() as group:
        group.create_task(appear())
        code, answer = await post(url / "filter", {"Pod": pod(), "NodeNames": NAMES})
    assert (code, answer["NodeNames"]) == (200, NAMES)


async def test_so_many_are_waited_for_at_a_time() -> None:
    books, unseen = Books(), Unseen(seconds=0.2, most=2)
    books.unknown.add("p")
    asked = PlacementRequest("idle", "p", "u", {})
    found = await asyncio.gather(*(unseen.judged(books, asked) for _ in range(3)), return_exceptions=True)
    assert sorted("too many" in str(one) for one in found) == [False, False, True]
    assert all(isinstance(one, RequestError) and one.status == 503 for one in found)


async def test_bodies_are_bounded_whether_their_length_is_announced_or_not() -> None:
    async def drip() -> AsyncIterator[bytes]:
        yield b'{"Pod":'
        for _ in range(8):
            yield b" " * 1024

    async with extender(most_bytes=TOO_LARGE) as url, aiohttp.ClientSession() as session:
        code, answer = await post(url / "filter", b" " * (TOO_LARGE + 1))
        assert (code, answer) == (413, {"Error": words.body_too_large("4Ki")})
        async with session.post(url / "filter", data=drip(), headers=JSON) as dripped:
            assert dripped.status == 413
        code, _ = await post(url / "filter", json.dumps({"Pod": pod()}).encode().ljust(TOO_LARGE))
    assert code == 200


async def test_a_body_that_says_how_it_is_packed_and_is_not() -> None:
    async with extender() as url:
        code, answer = await post(url / "filter", b"no gzip", {"Content-Encoding": "gzip"})
    assert code == 400
    assert "Error" in answer


async def test_too_many_large_bodies_at_once_are_refused_and_later_taken() -> None:
    """The bound on all bodies together is four times that on one."""
    begun = [asyncio.Event() for _ in range(4)]
    go_on = asyncio.Event()

    async def slowly(number: int) -> AsyncIterator[bytes]:
        yield json.dumps({"Pod": pod()}).encode().ljust(TOO_LARGE - 1)
        begun[number].set()
        await go_on.wait()
        yield b" "

    async with extender(most_bytes=TOO_LARGE) as url, aiohttp.ClientSession() as session:

        async def send(number: int) -> int:
            async with session.post(url / "filter", data=slowly(number), headers=JSON) as answer:
                return answer.status

        sending = [asyncio.create_task(send(number)) for number in range(4)]
        for event in begun:
            await event.wait()
        code = 0
        async with asyncio.timeout(20):
            while code != 503:  # what was sent arrives when it does
                code, _ = await post(url / "filter", b" " * TOO_LARGE)
        go_on.set()
        assert await asyncio.gather(*sending) == [200] * 4
        code, _ = await post(url / "filter", json.dumps({"Pod": pod()}).encode().ljust(TOO_LARGE))
    assert code == 200


async def test_under_load_from_another_process_every_answer_is_right() -> None:
    """Half of the pods may be placed; five thousand names each, on kept connections, in two lines at once."""
    async with extender() as url:
        clients = [
            await asyncio.create_subprocess_exec(
                sys.executable, str(ASKING), str(url / "filter"), "60", "5000", stdout=subprocess.PIPE
            )
            for _ in range(2)
        ]
        outputs = [await client.communicate() for client in clients]
    for client, (output, _) in zip(clients, outputs, strict=True):
        assert client.returncode == 0
        told = json.loads(output)
        assert (told["right"], told["wrong"]) == (60, [])


async def test_the_verbs_stand_in_the_list_of_all_pages() -> None:
    health = Health(FakeClock(), dict)
    sources = Sources(Findings(), CollectorRegistry(), dict, health)
    routes = public_routes(sources, extender_routes(Books()))
    async with serving(routes, "127.0.0.1:0", "--listen-address") as port, aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/") as answer:
            listed = await answer.json()
        code, _ = await post(URL(f"http://127.0.0.1:{port}/extender/filter"), {"Pod": pod()})
    assert code == 200
    assert "not offered" in listed["/extender/bind"]
    assert listed.keys() >= {"/extender/filter", "/metrics", "/queues"}


def test_the_sample_configuration_asks_for_what_is_there() -> None:
    configuration = yaml.safe_load((ROOT / "config" / "kube-scheduler.yaml").read_text(encoding="utf-8"))
    assert configuration["kind"] == "KubeSchedulerConfiguration"
    (asked,) = configuration["extenders"]
    verbs = {key for key in asked if key.endswith("Verb")}
    assert verbs == {"filterVerb"}
    served = {route.path for route in extender_routes(Books()) if route.method == "POST"}
    assert f"{URL(asked['urlPrefix']).path}/{asked['filterVerb']}" in served
    assert "managedResources" not in asked
    assert asked["nodeCacheCapable"] is True
