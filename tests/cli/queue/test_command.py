"""``vsched queue`` against an embedded cluster with a daemon, as a person uses it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support.queue_commands import COMMANDS, annotations, queue, state
from tests.support.running import gang, has_listed, node, nodes_of, podgroup, queue_status, scheduling
from tests.support.waiting import until
from vsched.cli import cli
from vsched.cli import words as shared
from vsched.cli.ask import words as ask_words
from vsched.cli.queue import words
from vsched.controllers.queues import STATE_WISH
from vsched.daemon.app import Daemon
from vsched.errors import BadInput, Unavailable, VschedError
from vsched.sim.cluster import Cluster

COMMAND_DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions"


class Shell:
    """Runs commands at a cluster beside its event loop."""

    def __init__(self, cluster: Cluster, kubeconfig: Path) -> None:
        self.cluster = cluster
        self._kubeconfig = kubeconfig

    async def run(self, *arguments: str) -> Result:
        line = ["queue", *arguments, "--kubeconfig", str(self._kubeconfig)]
        return await asyncio.to_thread(CliRunner().invoke, cli, line)

    async def printed(self, *arguments: str) -> str:
        """What a command that succeeds prints."""
        result = await self.run(*arguments)
        assert result.exit_code == 0, result.exception
        return result.stdout

    async def problem(self, *arguments: str) -> VschedError:
        """What a command that fails says: one line, which ``main`` turns into exit code 1."""
        result = await self.run(*arguments)
        assert isinstance(result.exception, VschedError)
        assert "\n" not in str(result.exception)
        assert result.stdout == ""
        return result.exception


@asynccontextmanager
async def cluster_with(tmp_path: Path, *objects: dict[str, Any], nodes: int = 1) -> AsyncIterator[Shell]:
    async with Cluster([node(f"n{number}") for number in range(nodes)], manifests=objects) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        yield Shell(cluster, tmp_path / "config")


async def opened(shell: Shell, *names: str) -> None:
    await until(lambda: all(state(shell.cluster, name) == "Open" for name in names))


def url_of(daemon: Daemon) -> str:
    return f"127.0.0.1:{daemon.ports['--listen-address']}"


async def test_a_list_shows_what_queues_hold(tmp_path: Path) -> None:
    rows = queue("a", weight=3, capability={"cpu": "3"}), queue("b", "a")
    async with (
        cluster_with(tmp_path, *rows) as shell,
        scheduling(shell.cluster.url, listen_address="127.0.0.1:0") as daemon,
    ):
        members = gang("g", 2)
        members[0]["spec"]["queue"] = "b"
        shell.cluster.apply(members)
        await until(lambda: len(nodes_of(shell.cluster, "g-")) == 2)
        await until(lambda: (queue_status(shell.cluster, "root").get("allocated") or {}).get("cpu") == "2")
        await until(lambda: queue_status(shell.cluster, "b").get("running") == 1)

        lines = (await shell.printed("list")).splitlines()
        assert lines[0].split() == ["queue", "state", "weight", "priority", "share", "cpu", "memory", "jobs", "waiting"]
        # With those of the queues below: the one job in b is one of a and of the root as well.
        assert [line.split()[-2:] for line in lines[1:5]] == [["1", "0"], ["1", "0"], ["1", "0"], ["0", "0"]]
        assert [line.strip("└ ").split()[0] for line in lines[1:5]] == ["root", "a", "b", "default"]
        assert "2/3" in lines[2]
        assert "2/4" in lines[1]
        listed = json.loads(await shell.printed("list", "-o", "json", "--daemon", url_of(daemon)))
        found = {row["name"]: row for row in listed["queues"]}
        assert found["b"]["deserved"]["cpu"] == "2"
        assert (found["b"]["share"], found["b"]["parent"]) == (1.0, "a")
        assert listed["total"]["cpu"] == "4"


async def test_getting_one_shows_its_podgroups_by_phase(tmp_path: Path) -> None:
    group = podgroup("waiting", 1, queue="a", minResources={"cpu": "100"})
    async with cluster_with(tmp_path, queue("a"), group) as shell, scheduling(shell.cluster.url):
        await until(lambda: queue_status(shell.cluster, "a").get("pending") == 1)
        page = await shell.printed("get", "a")
        assert "1 Pending" in page
        found = yaml.safe_load(await shell.printed("get", "a", "-o", "yaml"))
        assert (found["state"], found["podGroupsByPhase"]) == ("Open", {"Pending": 1})


async def test_closing_and_opening_say_what_comes_next(tmp_path: Path) -> None:
    rows = [queue("a"), queue("b", "a"), podgroup("g", 1, queue="a")]
    async with cluster_with(tmp_path, *rows) as shell, scheduling(shell.cluster.url):
        await opened(shell, "a", "b")
        assert await shell.printed("open", "a") == words.is_already("a", "Open") + "\n"
        assert await shell.printed("close", "a") == "queue a: Closing: 1 PodGroup remains\n"
        assert await shell.printed("close", "a") == words.is_already("a", "Closing: 1 PodGroup remains") + "\n"
        await until(lambda: state(shell.cluster, "b") == "Closed")
        refused = await shell.problem("open", "b")
        assert str(refused) == "queue b: its parent a is Closing and must be opened first"
        assert await shell.printed("open", "a") == "queue a: Open\n"
        await opened(shell, "b")
        assert await shell.printed("close", "b") == "queue b: Closed\n"


async def test_where_there_are_no_commands_the_annotation_is_set(tmp_path: Path) -> None:
    async with cluster_with(tmp_path, queue("a")) as shell:
        shell.cluster.client.delete(COMMAND_DEFINITIONS, "", "commands.bus.volcano.sh")
        async with scheduling(shell.cluster.url) as daemon:
            await opened(shell, "a")
            await until(lambda: has_listed(daemon))  # it logs what is not served
            assert await shell.printed("close", "a") == "queue a: Closed\n"
            assert annotations(shell.cluster, "a")[STATE_WISH] == "closed"
            assert await shell.printed("open", "a") == "queue a: Open\n"


async def test_asking_without_anybody_to_answer(tmp_path: Path) -> None:
    async with cluster_with(tmp_path, queue("a")) as shell:
        said = await shell.printed("close", "a", "--wait", "0")
        [made] = shell.cluster.client.list(COMMANDS)
        assert said == f"queue a: asked, by Command default/{made['metadata']['name']}\n"
        assert (made["action"], made["target"]["name"]) == ("CloseQueue", "a")
        nobody = await shell.problem("close", "a", "--wait", "0.2")
        assert isinstance(nobody, Unavailable)
        assert "still without a state after 0.2 s (is vsched running" in str(nobody)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["get", "reserch"], words.no_queue("reserch") + shared.did_you_mean("research"), id="a slip"),
        pytest.param(["close", "x"], words.no_queue("x"), id="a queue that is not there"),
        pytest.param(["close", "root"], "queue root: root is the parent of all queues", id="the root"),
    ],
)
async def test_what_cannot_be_is_told_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    async with cluster_with(tmp_path, queue("research"), queue("root")) as shell:
        found = await shell.problem(*arguments)
        assert isinstance(found, BadInput)
        assert str(found).startswith(message)


async def test_a_cluster_without_queues_at_all(tmp_path: Path) -> None:
    async with cluster_with(tmp_path) as shell:
        shell.cluster.client.delete(COMMAND_DEFINITIONS, "", "queues.scheduling.volcano.sh")
        found = await shell.problem("list")
        assert str(found).endswith(ask_words.are_not_served("", "queues.scheduling.volcano.sh"))


async def test_a_daemon_that_is_not_there(tmp_path: Path) -> None:
    async with cluster_with(tmp_path, queue("a")) as shell:
        assert isinstance(await shell.problem("list", "--daemon", "127.0.0.1:1"), Unavailable)


@pytest.mark.parametrize("word", ["list", "get", "open", "close"])
def test_help_shows_an_example(word: str) -> None:
    shown = CliRunner().invoke(cli, ["queue", word, "--help"])
    assert shown.exit_code == 0
    assert f"Example:  vsched queue {word}" in shown.output


def test_usage_errors_exit_with_2() -> None:
    assert CliRunner().invoke(cli, ["queue", "get"]).exit_code == 2
    assert CliRunner().invoke(cli, ["queue", "list", "-o", "xml"]).exit_code == 2
