"""``vsched job`` and ``vsched usage`` as a person uses them: a daemon is asked, else the objects tell what they can."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support.running import gang, node, nodes_of, queue_status, scheduling, status_of
from tests.support.waiting import until
from vsched.cli import cli
from vsched.cli.ask import words as ask_words
from vsched.cli.job import words
from vsched.client import words as client_words
from vsched.errors import BadInput, Unavailable
from vsched.sim.cluster import Cluster

SECONDS = 60.0
NOBODY = "http://127.0.0.1:1"


class Shell:
    """Runs commands beside the event loop of a cluster and a daemon."""

    def __init__(self, cluster: Cluster, daemon: str, kubeconfig: Path) -> None:
        self.cluster = cluster
        self.daemon = daemon
        self.kubeconfig = str(kubeconfig)

    async def run(self, *arguments: str, **environment: str) -> Result:
        variables = {"VSCHED_DAEMON": self.daemon, "KUBECONFIG": self.kubeconfig, **environment}
        # Whoever else uses this machine may have a daemon where daemons usually are.
        usual = {"job": {name: {"daemon": NOBODY} for name in ("list", "get")}}
        return await asyncio.to_thread(CliRunner().invoke, cli, arguments, env=variables, default_map=usual)

    async def printed(self, *arguments: str, **environment: str) -> str:
        result = await self.run(*arguments, **environment)
        assert result.exit_code == 0, result.exception
        return result.stdout


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    """A gang that runs, and two that wait one behind the other."""
    async with (
        Cluster([node("n1"), node("n2")], manifests=gang("runs", 2)) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0") as daemon,
    ):
        await until(lambda: len(nodes_of(cluster, "runs-")) == 2, SECONDS)
        await until(lambda: status_of(cluster, "runs").get("phase") == "Running", SECONDS)
        for name in ("first", "second"):
            cluster.apply(gang(name, 8))
            await until(lambda name=name: status_of(cluster, name).get("conditions"), SECONDS)
        cluster.write_kubeconfig(tmp_path / "config")
        yield Shell(cluster, f"127.0.0.1:{daemon.ports['--listen-address']}", tmp_path / "config")


async def test_a_list_of_jobs_in_their_order(shell: Shell) -> None:
    lines = (await shell.printed("job", "list")).splitlines()
    assert lines[0].split() == [
        *("job", "queue", "phase", "priority", "min", "ready"),
        *("pending", "running", "age", "position", "reason"),
    ]
    assert [line.split()[0] for line in lines[1:]] == ["default/first", "default/second", "default/runs"]
    assert lines[1].split()[2:8] == ["Inqueue", "0", "8", "0", "8", "0"]
    assert [line.split()[-2] for line in lines[1:]] == ["1", "2", "-"]
    waiting = json.loads(await shell.printed("job", "list", "--waiting", "-o", "json", "-A"))
    assert waiting["source"] == f"http://{shell.daemon}"
    assert [row["job"] for row in waiting["jobs"]] == ["default/first", "default/second"]
    assert all(row["reason"] and row["message"] for row in waiting["jobs"])
    wide = (await shell.printed("job", "list", "--phase", "inqueue", "-o", "wide")).splitlines()
    assert wide[0].split()[-1] == "message"
    assert waiting["jobs"][0]["message"] in wide[1]
    assert await shell.printed("job", "list", "-n", "elsewhere") == "no jobs\n"


async def test_everything_about_a_job(shell: Shell) -> None:
    page = await shell.printed("job", "get", "default/first")
    assert "1 of 2 in its queue" in page
    assert "0 ready, 8 pending, 0 running" in page
    document = yaml.safe_load(await shell.printed("job", "get", "first", "-n", "default", "-o", "yaml"))
    assert (document["job"], document["explanation"]["state"]) == ("default/first", "waits")
    missing = await shell.run("job", "get", "default/frist")
    assert isinstance(missing.exception, BadInput)
    assert "default/frist" in str(missing.exception)


async def test_where_no_daemon_answers_the_objects_tell(shell: Shell) -> None:
    listed = await shell.run("job", "list", "-o", "json", VSCHED_DAEMON="")
    assert listed.exit_code == 0, listed.exception
    assert listed.stderr.startswith(f"vsched: {NOBODY}: {client_words.NOBODY_LISTENS} (")
    assert listed.stderr.rstrip().endswith(words.WITHOUT_DAEMON)
    document = json.loads(listed.stdout)
    rows = {row["job"]: row for row in document["jobs"]}
    assert document["source"] == shell.cluster.url
    assert rows["default/runs"]["phase"] == "Running"
    assert (rows["default/first"]["ready"], rows["default/first"]["position"]) == (None, None)
    assert rows["default/first"]["message"]
    found = await shell.run("job", "get", "first", VSCHED_DAEMON="")
    assert "0 ready, 8 pending, 0 running" in found.stdout
    runs = await shell.run("job", "get", "runs", VSCHED_DAEMON="")
    assert "2 ready, 0 pending" in runs.stdout
    missing = await shell.run("job", "get", "nothing", VSCHED_DAEMON="")
    assert str(missing.exception) == words.no_podgroup("default/nothing", shell.cluster.url)


async def test_where_a_cluster_is_named_a_daemon_of_this_machine_is_not_asked(shell: Shell) -> None:
    named = await shell.run("job", "list", "-o", "json", "--kubeconfig", shell.kubeconfig, VSCHED_DAEMON="")
    assert json.loads(named.stdout)["source"] == shell.cluster.url
    assert named.stderr == f"vsched: {words.DAEMON_SHOWS_THEM}\n"
    both = await shell.run("job", "list", "-o", "json", "--kubeconfig", shell.kubeconfig)
    assert json.loads(both.stdout)["source"] == f"http://{shell.daemon}"


async def test_a_daemon_that_is_named_has_to_answer(shell: Shell) -> None:
    refused = await shell.run("job", "list", "--daemon", NOBODY)
    assert isinstance(refused.exception, Unavailable)
    assert f"{NOBODY}: nobody listens there" in str(refused.exception)
    nobody = await shell.run("job", "list", VSCHED_DAEMON="", KUBECONFIG="/nowhere")
    assert "nobody listens there" in str(nobody.exception)
    assert "kubeconfig /nowhere: does not exist" in str(nobody.exception)


async def test_what_nodes_have_allocated_as_the_daemon_knows_it(shell: Shell) -> None:
    lines = (await shell.printed("usage")).splitlines()
    assert lines[0].split() == ["node", "cpu", "memory", "pods", "usage", "state"]
    assert [line.split()[0] for line in lines[1:3]] == ["n1", "n2"]
    document = json.loads(await shell.printed("usage", "-o", "json"))
    assert sum(found["pods"] for found in document["nodes"].values()) == 2
    assert {found["usage"]["cpu"] for found in document["nodes"].values()} == {None}
    assert "needs the figures of the source" in str((await shell.run("usage", "-o", "plan")).exception)


async def test_queues_count_the_jobs_that_wait(shell: Shell) -> None:
    await until(lambda: queue_status(shell.cluster, "default").get("running") == 1, SECONDS)
    found = json.loads(await shell.printed("queue", "list", "-o", "json"))
    row = next(row for row in found["queues"] if row["name"] == "default")
    assert row["podGroups"]["running"] == 1
    assert row["share"] is not None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["a/b/c"], "'a/b/c': expected NAMESPACE/NAME, or NAME with -n NAMESPACE", id="too many parts"),
        pytest.param(["/b"], "'/b': expected NAMESPACE/NAME", id="no namespace"),
        pytest.param(["a/b", "-n", "c"], ask_words.which_namespace("a/b", "c"), id="two namespaces"),
    ],
)
def test_names_that_cannot_be(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(cli, ["job", "get", *arguments])
    assert isinstance(result.exception, BadInput)
    assert says in str(result.exception)
