"""``vsched explain`` as a person uses it: a daemon or a dumped file is asked; pages, data, and clear refusals."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from click.testing import CliRunner, Result
from msgspec import to_builtins
from msgspec.structs import replace
from rich.console import Console

from tests.support.explained import explained, queue_explained
from tests.support.plans import policy_of
from tests.support.running import gang, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.cli import cli
from vsched.cli.explain import words
from vsched.cli.explain.view import as_page
from vsched.cli.show.drawing import look_for
from vsched.daemon.app import Daemon
from vsched.errors import BadInput
from vsched.explain.records import Change, Explanation
from vsched.explain.words.reasons import CUT_SHORT
from vsched.framework.words import jobs as jobs_words
from vsched.sim.cluster import Cluster
from vsched.web.serve.routing import Route, as_json
from vsched.web.serve.server import serving

SECONDS = 60.0
NOBODY = "127.0.0.1:1"
TEXT = """
    node n1 cpu=4 node.kubernetes.io/instance-type=small
    node n2 cpu=4 taint=gpu:yes node.kubernetes.io/instance-type=large
    job team/before min=1 pods=1 cpu=3 age=9
    job team/train min=3 pods=3 cpu=3
"""


def invoked(*arguments: str, daemon: str = NOBODY) -> Result:
    return CliRunner().invoke(cli, ["explain", *arguments], env={"VSCHED_DAEMON": daemon, "KUBECONFIG": "/nowhere"})


def page(found: Explanation, *, wide: bool = False, width: int = 120) -> str:
    console = Console(width=width, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(as_page(found, look_for(width, wide, unicode=False), wide=wide))
    return capture.get()


async def test_a_daemon_is_asked_and_its_dump_says_the_same(tmp_path: Path) -> None:
    async with (
        Cluster([node("n1", cpu="2")], manifests=gang("runs", 1)) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0", advise=False) as daemon,
    ):
        await until(lambda: len(nodes_of(cluster, "runs-")) == 1, SECONDS)
        cluster.apply(gang("train", 4))
        where = f"127.0.0.1:{daemon.ports['--listen-address']}"

        async def run(*arguments: str) -> Result:
            return await asyncio.to_thread(invoked, *arguments, "--search-time", "20s", daemon=where)

        async def read(*arguments: str) -> dict[str, Any]:
            found: dict[str, Any] = json.loads((await run(*arguments, "-o", "json")).stdout)
            return found

        await until(lambda: _seen(daemon, "default/train") == 4, SECONDS)
        found = await read("default/train")
        assert (found["state"], found["message"].partition(":")[0]) == (
            "never",
            jobs_words.needs(jobs_words.THE_GANG, 4, 4, 1, 2),
        )
        assert found["changes"]
        assert yaml.safe_load((await run("train", "-n", "default", "-o", "yaml")).stdout)["key"] == "default/train"
        document = (await run("default/train")).stdout
        assert document.startswith(f"PodGroup default/train {words.AS_THINGS_ARE}\nthe gang needs 4, 1 fits")
        assert "would start with" in document
        assert (await read("queue/default"))["kind"] == "Queue"
        assert (await read("default/train-0", "--pod"))["job"] == "default/train"
        watched = await run("default/runs", "--watch")
        assert watched.stdout.splitlines()[:2] == ["PodGroup default/runs runs", ""], "nothing is said twice"
        unknown = await run("default/trian")
        assert isinstance(unknown.exception, BadInput)
        assert "did you mean default/train" in str(unknown.exception)
        file = str(tmp_path / "cycle.json.gz")
        environment = {"VSCHED_DAEMON": where}
        dumped = await asyncio.to_thread(CliRunner().invoke, cli, ["dump", "-O", file], env=environment)
        assert dumped.exit_code == 0, dumped.exception
    offline = json.loads(invoked("default/train", "--from", file, "-o", "json").stdout)
    for live in (found, offline):
        del live["at"]
    assert offline == found
    short = json.loads(invoked("default/train", "--from", file, "--search-time", "1us", "-o", "json").stdout)
    assert (short["changes"], short["notes"]) == ([], [CUT_SHORT]), "it says that it has not tried all"
    absent = invoked("default/nobody", "--from", file).exception
    assert str(absent) == f"{file}: default/nobody is not in it"
    other = invoked("default/train", "--pod", "--from", file).exception
    assert str(other) == f"{file}: default/train is a PodGroup, and no Pod"
    assert json.loads(invoked("queue/default", "--from", file, "-o", "json").stdout)["counts"]["waiting"] == 1


async def test_at_a_terminal_it_is_searched_on_where_not_all_was_tried() -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.query["seconds"])
        found, first = explained(TEXT, "team/train"), len(asked) == 1
        more = replace(found, changes=(Change("1 more node like n1", ()),))
        return as_json(to_builtins(replace(found, notes=(CUT_SHORT,)) if first else more))

    async with serving(
        [Route("/explain/{namespace}/{name}", answer, "why")], "127.0.0.1:0", "--listen-address"
    ) as port:
        command = [
            sys.executable,
            "-m",
            "vsched",
            "explain",
            "team/train",
            "--no-color",
            "--daemon",
            f"127.0.0.1:{port}",
        ]
        screen, terminal = os.openpty()
        process = await asyncio.create_subprocess_exec(*command, stdout=terminal, stderr=asyncio.subprocess.PIPE)
        os.close(terminal)
        _, errors = await process.communicate()
        shown = os.read(screen, 1 << 16).decode()
        os.close(screen)
        piped = await asyncio.to_thread(invoked, "team/train", daemon=f"127.0.0.1:{port}")

    assert process.returncode == piped.exit_code == 0
    assert asked == ["2", "20", "2"], "whoever reads from a pipe gets one answer"
    assert errors.decode() == words.searching_on(20) + "\n"
    assert shown.count("the gang needs 3") == 2
    assert shown.count("would start with") == 1


def _seen(daemon: Daemon, key: str) -> int:
    """How many pods of a job the last session knew."""
    snapshot = daemon.telemetry.findings.snapshot
    return len(snapshot.jobs[key].tasks) if snapshot is not None and key in snapshot.jobs else 0


@pytest.mark.parametrize(
    ("arguments", "document"),
    [
        pytest.param(
            ["ns/x", "--from", "nowhere.json"], "nowhere.json: cannot be read: No such file or directory", id="no file"
        ),
        pytest.param(["a/b/c"], "expected NAMESPACE/NAME", id="no name"),
        pytest.param(["ns/x"], "nobody listens there", id="no daemon"),
    ],
)
def test_what_goes_wrong_is_one_clear_line(arguments: list[str], document: str) -> None:
    error = invoked(*arguments).exception

    assert document in str(error)
    assert "\n" not in str(error)


def test_a_file_cannot_be_watched() -> None:
    result = invoked("ns/x", "--from", "some.json", "--watch")

    assert result.exit_code == 2
    assert "a file does not change" in result.output


def test_the_page_of_a_podgroup() -> None:
    lines = [line.rstrip() for line in page(explained(TEXT, "team/train")).splitlines()]

    assert lines == [
        f"PodGroup team/train {words.AS_THINGS_ARE}",
        "the gang needs 3, none fit, and 1 would if all nodes were empty: "
        "1 node has too little cpu, 1 is tainted {gpu: yes}",
        "",
        "reason  GangSize",
        "queue   default",
        "phase   Inqueue",
        "pods    3 of at least 3: 3 pending",
        "place   2nd of 2 in queue default: team/before is older",
        "behind  team/before",
        "",
        "in the way",
        "  GangSize   3 are needed at once, and 1 would fit if all nodes were empty" + words.WAITING_DOES_NOT_HELP,
        "  Resources  3 pods ask for 3 cpu each, 1 free on node n1: team/before holds 3 cpu",
        "",
        "nodes",
        "  why                                       large  small  all",
        "  Insufficient cpu                                     1    1",
        "  node(s) had untolerated taint {gpu: yes}      1           1",
    ]


def test_the_page_of_a_queue_and_of_a_pod() -> None:
    queue = queue_explained(TEXT, "default")
    assert queue is not None
    assert "jobs    " + words.pods_pending("2: 1 waiting, 0 running", 4, 4) in page(queue)
    pod = page(explained(TEXT, "team/train.0"))
    assert "job     team/train" in pod
    assert "0/2 nodes are available" in pod


def test_nothing_is_said_twice() -> None:
    text = "node n1 cpu=4\njob ns/a min=3 pods=3 cpu=3 phase=Inqueue"
    lines = [line.strip() for line in page(explained(text, "ns/a")).splitlines()]

    headline = lines[1]
    assert headline.startswith("the gang needs 3, 1 fits")
    assert sum(headline in line for line in lines) == 1
    assert not any("its gang" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        pytest.param("job ns/a min=1 pods=1 cpu=9", "ns/a", f"PodGroup ns/a {words.AS_THINGS_ARE}", id="never"),
        pytest.param("job ns/a min=2 pods=1 cpu=1", "ns/a", "PodGroup ns/a waits", id="waits"),
        pytest.param("job ns/a min=1 pods=1 cpu=1", "ns/a", f"PodGroup ns/a {words.WAITS_TO_START}", id="placed"),
        pytest.param("job ns/a min=1 pods=1 cpu=1 on=n1 succeeded", "ns/a", "PodGroup ns/a has finished", id="over"),
        pytest.param("job ns/a min=1 pods=1 cpu=1 on=n1", "ns/a.0", "Pod ns/a.0 runs", id="a pod"),
        pytest.param("queue q", "q", "Queue q is open", id="an open queue"),
        pytest.param("queue q state=Closed", "q", "Queue q is closed", id="a closed queue"),
        pytest.param(
            "queue q\njob ns/a min=2 pods=1 cpu=1 queue=q", "q", f"Queue q {words.HAS_WAITING_JOBS}", id="waiting"
        ),
    ],
)
def test_the_title_is_a_sentence(text: str, name: str, title: str) -> None:
    document = f"node n1 cpu=4\n{text}"
    found = explained(document, name) if "/" in name else queue_explained(document, name)

    assert found is not None
    assert page(found).splitlines()[0].rstrip() == title


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("node n1 cpu=4\njob ns/a queue=nowhere min=1 pods=1 cpu=1", id="no queue"),
        pytest.param("node n1 cpu=4 taint=gpu:yes\njob ns/a min=1 pods=1 cpu=1", id="taints"),
        pytest.param("node n1 cpu=4\njob ns/a min=1 pods=1 cpu=5", id="more than any node has"),
        pytest.param("node n1 cpu=4\njob ns/a min=3 pods=1 cpu=1", id="a gang without all its pods"),
        pytest.param("node n1 cpu=4\npods ns/a 1 cpu=1", id="no PodGroup"),
    ],
)
def test_what_the_headline_says_is_not_said_again(text: str) -> None:
    found = explained(text)

    assert "in the way" not in page(found)
    assert found.constraints, "programs find it there all the same"
    assert page(found).count(found.message) == 1


def test_pods_are_told_of_where_they_wait_for_different_things() -> None:
    document = "job ns/a min=3 pods=3 cpu=5\n"
    assert "pods\n" not in "\n".join(
        line.rstrip() for line in page(explained(f"node n1 cpu=4\n{document}")).splitlines()
    )
    text = page(explained("node n1 cpu=4\njob ns/a min=4 pods=2 cpu=3\npods ns/a 2 cpu=1 gated"))
    assert "2  a scheduling gate holds it back" in text


def test_a_narrow_page_leaves_out_what_a_wide_one_has() -> None:
    lines = [f"node n{at} cpu=1 node.kubernetes.io/instance-type=type{at}" for at in range(10)]
    found = explained("\n".join([*lines, "job ns/a min=1 pods=1 cpu=2"]), policy=policy_of("gang", "predicates"))

    assert "type9" in page(found, wide=True, width=300)
    assert "type9" not in page(found, width=80)
    assert "all" in page(found, width=80)
