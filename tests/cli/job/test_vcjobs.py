"""``vsched job`` and vcjobs as a person uses them: made, shown, stopped, and let go on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.running import node, scheduling
from tests.support.vcjob_cluster import job, phase, phases, status, task, vcjob
from tests.support.waiting import until
from vsched.cli import cli
from vsched.cli.explain import words as explain_words
from vsched.cli.job import words
from vsched.controllers.vcjobs import words as vcjobs_words
from vsched.errors import BadInput, Unavailable
from vsched.sim.cluster import Cluster
from vsched.web.words import answers as web_words

SAMPLES = Path(__file__).parents[3] / "config" / "samples" / "vcjobs"
NOBODY = "http://127.0.0.1:1"


class Shell:
    """Runs commands beside the event loop of a cluster."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        cluster.write_kubeconfig(folder / "config")
        self.kubeconfig = str(folder / "config")

    async def run(self, *arguments: str, typed: str = "") -> Result:
        variables = {"KUBECONFIG": self.kubeconfig, "VSCHED_DAEMON": ""}
        usual = {"job": {name: {"daemon": NOBODY} for name in ("list", "get")}}
        invoked = ["job", *arguments]
        return await asyncio.to_thread(CliRunner().invoke, cli, invoked, env=variables, default_map=usual, input=typed)

    async def printed(self, *arguments: str, typed: str = "") -> str:
        result = await self.run(*arguments, typed=typed)
        assert result.exit_code == 0, (result.output, result.exception)
        return result.stdout

    async def problem(self, *arguments: str, typed: str = "") -> str:
        """What a command that fails says, in one line."""
        result = await self.run(*arguments, typed=typed)
        assert isinstance(result.exception, BadInput | Unavailable), (result.output, result.exception)
        assert "\n" not in str(result.exception)
        return str(result.exception)


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url):
        yield Shell(cluster, tmp_path)


async def test_a_vcjob_of_flags_is_made_shown_stopped_and_let_go_on(shell: Shell) -> None:
    made = await shell.printed("run", "--name", "sleep", "--replicas", "3", "--min", "2", "--requests", "cpu=100m")
    assert made == "vcjob default/sleep created\n"
    await until(lambda: list(phases(shell.cluster, "sleep").values()) == ["Running"] * 3)
    await until(
        lambda: (phase(shell.cluster, "sleep"), status(shell.cluster, "sleep").get("running")) == ("Running", 3)
    )
    lines = (await shell.printed("list", "--vcjobs")).splitlines()
    assert lines[0].split()[:4] == ["job", "queue", "phase", "min"]
    assert lines[1].split()[:6] == ["default/sleep", "default", "Running", "2", "0", "3"]
    page = await shell.printed("get", "default/sleep")
    assert "0 of 3" in page, "retries"
    assert "3 Running" in page, "the pods of its task"
    assert f"default/sleep-{job(shell.cluster, 'sleep')['metadata']['uid']}" in page, "its PodGroup"
    said = await shell.printed("suspend", "sleep", "-n", "default")
    assert said in ("vcjob default/sleep: Aborting\n", "vcjob default/sleep: Aborted\n")
    await until(lambda: phase(shell.cluster, "sleep") == "Aborted")
    assert await shell.printed("suspend", "default/sleep") == words.is_already("default/sleep", "Aborted") + "\n"
    (found,) = json.loads(await shell.printed("list", "--vcjobs", "-o", "json"))["vcjobs"]
    assert (found["phase"], found["retries"], found["maxRetry"]) == ("Aborted", 0, 3)
    await shell.printed("resume", "default/sleep")
    await until(lambda: phase(shell.cluster, "sleep") == "Running")


async def test_the_vcjobs_of_a_file_are_made(shell: Shell) -> None:
    assert (
        await shell.printed("run", "-f", str(SAMPLES / "pytorch.yaml"), "-n", "default")
        == "vcjob default/mnist created\n"
    )
    assert [each["name"] for each in job(shell.cluster, "mnist")["spec"]["tasks"]] == ["master", "worker"]


async def test_a_vcjob_that_has_ended_can_be_neither_stopped_nor_resumed(shell: Shell) -> None:
    shell.cluster.apply([vcjob("done", task("worker", 1, "50ms"))])
    await until(lambda: phase(shell.cluster, "done") == "Completed")
    for verb in ("suspend", "resume"):
        assert await shell.problem(verb, "default/done") == words.has_ended("default/done", "Completed")


async def test_a_vcjob_is_explained_by_its_own_name(tmp_path: Path) -> None:
    async with (
        Cluster([node("n1")]) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0", advise=False) as daemon,
    ):
        shell = Shell(cluster, tmp_path)

        async def said(name: str) -> str:
            where = f"http://127.0.0.1:{daemon.ports['--listen-address']}"
            arguments = ["explain", name, "--daemon", where]
            environment = {"KUBECONFIG": shell.kubeconfig}
            result = await asyncio.to_thread(CliRunner().invoke, cli, arguments, env=environment)
            return result.stdout if result.exception is None else str(result.exception)

        cluster.apply([vcjob("large", task("worker", 1_000))])
        await until(lambda: bool(cluster.client.list("scheduling.volcano.sh/podgroups", "default")))
        cluster.apply([vcjob("wrong", task("worker", 1), minAvailable=9)])
        await until(lambda: phase(cluster, "wrong") == "Pending")
        cluster.apply([vcjob("foreign", task("worker", 1), schedulerName="other")])

        podgroup = cluster.client.list("scheduling.volcano.sh/podgroups", "default")[0]["metadata"]["name"]
        await until(lambda: phase(cluster, "large") == "Pending")
        large = await said("default/large")
        assert large.startswith("vcjob default/large ")
        assert f"default/{podgroup}" in large
        assert await said("default/wrong") == (
            "vcjob default/wrong cannot be run: spec.minAvailable: 9 is more than the 1 replicas of all tasks"
        )
        assert await said("default/foreign") == vcjobs_words.for_another_scheduler("default/foreign", "other")
        assert (await said("default/nothing")).startswith(web_words.nothing_known("pod or PodGroup default/nothing"))


WEB = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "web", "annotations": {"scheduling.volcano.sh/group-min-member": "2"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "schedulerName": "vsched",
                "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1000"}}}],
            },
        },
    },
}


async def test_pods_of_a_workload_go_by_its_name_in_every_channel(tmp_path: Path) -> None:
    async with (
        Cluster([node("n1")]) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0", advise=False) as daemon,
    ):
        await until(lambda: "--listen-address" in daemon.ports)
        shell, where = Shell(cluster, tmp_path), f"http://127.0.0.1:{daemon.ports['--listen-address']}"
        cluster.apply([WEB])

        def told() -> str:
            groups = cluster.client.list("scheduling.volcano.sh/podgroups", "default")
            conditions = [one for group in groups for one in (group.get("status") or {}).get("conditions") or ()]
            return next((str(one["message"]) for one in conditions if one["type"] == "Unschedulable"), "")

        await until(lambda: bool(told()))
        name = cluster.client.list("scheduling.volcano.sh/podgroups", "default")[0]["metadata"]["name"]
        assert name.startswith("podgroup-")
        listed = await shell.printed("list", "--daemon", where)
        assert "ReplicaSet default/web" in listed
        assert name not in listed
        for daemon_or_not in (("--daemon", where), ()):
            shown = await shell.printed("get", "default/web", *daemon_or_not)
            assert "ReplicaSet default/web" in shown
            assert told() in " ".join(shown.split())
        environment = {"KUBECONFIG": shell.kubeconfig}
        for asked in ("default/web", f"default/{name}"):
            arguments = ["explain", asked, "--daemon", where]
            found = await asyncio.to_thread(CliRunner().invoke, cli, arguments, env=environment)
            lines = found.stdout.splitlines()
            assert lines[0] == f"ReplicaSet default/web {explain_words.AS_THINGS_ARE}"
            assert told() in " ".join(found.stdout.split())
        queue = ["explain", "queue/default", "--daemon", where]
        of_queue = await asyncio.to_thread(CliRunner().invoke, cli, queue, env=environment)
        assert "1 job waits, ReplicaSet default/web first" in of_queue.stdout


async def test_where_nobody_looks_after_vcjobs_that_is_said(tmp_path: Path) -> None:
    async with Cluster([node("n1")], manifests=[vcjob("train", task("worker", 1))]) as cluster:
        said = await Shell(cluster, tmp_path).problem("suspend", "default/train", "--wait", "0.3")
    assert "still without a phase after 0.3 s (is vsched running" in said


@pytest.mark.parametrize(
    ("arguments", "typed", "wanted"),
    [
        pytest.param(
            ("run", "-f", "-"), "{apiVersion: batch/v1, kind: Job, metadata: {name: a}}",
            "stdin:document 1: Job of batch/v1 (expected Job of batch.volcano.sh/v1alpha1)", id="a Job of Kubernetes",
        ),
        pytest.param(
            ("run", "-f", "-"), "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: a}, spec: {}}",
            "vcjob default/a: ", id="a vcjob without tasks",
        ),
        pytest.param(
            ("run", "--name", "a", "--requests", "cpu=lots"), "",
            words.no_amounts("--requests", "cpu=lots"), id="an amount",
        ),
        pytest.param(
            ("run", "--name", "a", "--requests", "memory=1Gi"), "",
            words.above_the_limit("memory", "1Gi", "100Mi"), id="more than the limit",
        ),
        pytest.param(
            ("run", "--name", "a", "--min", "3"), "", "vcjob default/a: ", id="more needed than there are",
        ),
        pytest.param(("suspend", "default/nothing"), "", words.no_vcjob("default/nothing", ""), id="no such vcjob"),
    ],
)  # fmt: skip
async def test_what_cannot_be_is_said_in_a_line(
    shell: Shell, arguments: tuple[str, ...], typed: str, wanted: str
) -> None:
    assert (await shell.problem(*arguments, typed=typed)).startswith(wanted)
    assert not job(shell.cluster, "a")


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        pytest.param(("run",), "give -f FILE or --name NAME", id="neither a file nor a name"),
        pytest.param(("run", "-f", "x", "--image", "y"), "--image: not with -f", id="a file and flags"),
        pytest.param(("list", "--vcjobs", "--waiting"), "--waiting: not with --vcjobs", id="a flag of PodGroups"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(arguments: tuple[str, ...], wanted: str) -> None:
    result = CliRunner().invoke(cli, ["job", *arguments])
    assert result.exit_code == 2
    assert wanted in result.output
