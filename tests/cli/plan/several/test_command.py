"""Several clusters are asked where a job starts first, and the best of them gets it."""

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

from tests.support.builders import merged
from tests.support.running import gang, has_listed, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.cli import cli
from vsched.cli.plan.changes import EvictionChange
from vsched.cli.plan.several import words
from vsched.cli.plan.several.answers import ClusterAnswer, best, cheapest
from vsched.cli.plan.several.targets import by_file
from vsched.errors import BadInput, VschedError
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
PODGROUPS = "scheduling.volcano.sh/podgroups"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["plan", *arguments])


def failure(result: Result) -> str:
    assert result.exit_code != 0
    return str(result.exception) if isinstance(result.exception, VschedError) else result.output


class Site:
    """A cluster with its daemon."""

    def __init__(self, name: str, cluster: Cluster, port: int, folder: Path) -> None:
        self.name, self.cluster = name, cluster
        self.url = f"http://127.0.0.1:{port}"
        self.kubeconfig = folder / f"{name}.kubeconfig"
        cluster.write_kubeconfig(self.kubeconfig)


@asynccontextmanager
async def site(name: str, folder: Path, cpus: str, *work: Obj) -> AsyncIterator[Site]:
    async with (
        Cluster([node("n1", cpu=cpus)]) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0") as daemon,
    ):
        cluster.apply([*work])
        pods = sum(each["kind"] == "Pod" for each in work)
        await until(lambda: has_listed(daemon) and len(nodes_of(cluster)) == pods)
        yield Site(name, cluster, daemon.ports["--listen-address"], folder)


def lasting(objects: list[Obj], seconds: int) -> list[Obj]:
    """The same objects, whose pods say how long they run."""
    said = {"metadata": {"annotations": {"vsched.io/expected-duration": f"{seconds}s"}}}
    return [merged(each, said) if each["kind"] == "Pod" else each for each in objects]


def job(folder: Path) -> str:
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump_all(gang("new", 2, cpu="2")))
    return str(path)


def file_of(folder: Path, *sites: Site, **more: str) -> str:
    path = folder / "clusters.yaml"
    entries = [{"name": one.name, "daemon": one.url, "kubeconfig": one.kubeconfig.name} for one in sites]
    entries += [{"name": name, "daemon": url} for name, url in more.items()]
    path.write_text(yaml.safe_dump({"clusters": entries}))
    return str(path)


@pytest.mark.real_time
async def test_the_cluster_where_it_starts_first_gets_it_and_one_that_does_not_answer_is_told(tmp_path: Path) -> None:
    full = lasting(gang("old", 4, cpu="1"), 600)
    async with site("east", tmp_path, "4", *full) as east, site("west", tmp_path, "8", *gang("old", 2)) as west:
        asked = ("--clusters", file_of(tmp_path, east, west, south="http://127.0.0.1:1"), "--submit", job(tmp_path))
        found = await asyncio.to_thread(run, *asked, "--to", "best", "-o", "json")
        assert found.exit_code == 0, found.output
        answer = json.loads(found.stdout)
        by_name = {one["cluster"]: one for one in answer["clusters"]}
        assert (answer["first"], answer["evictsLeast"]) == ("west", "west")
        assert by_name["west"] == {
            "cluster": "west",
            "starts": True,
            "earliestSeconds": 0.0,
            "pods": by_name["west"]["pods"],
            "placed": by_name["west"]["pods"],
            "evicts": [],
            "message": "",
        }
        assert by_name["east"]["placed"] == 0
        assert 0 < by_name["east"]["earliestSeconds"] <= 600
        assert by_name["south"].keys() == {"cluster", "problem"}
        assert words.handed("west", "PodGroup", "default/new") in found.stderr
        await until(lambda: len(nodes_of(west.cluster, "new")) == 2)
        assert west.cluster.client.get(PODGROUPS, "default", "new") is not None
        assert east.cluster.client.get(PODGROUPS, "default", "new") is None

        again = await asyncio.to_thread(run, *asked, "--to", "west")
        assert "already exists" in failure(again)


@pytest.mark.real_time
async def test_daemons_by_their_urls_as_a_table(tmp_path: Path) -> None:
    async with site("east", tmp_path, "2") as east, site("west", tmp_path, "8") as west:
        asked = ("--live", east.url, "--live", west.url, "--submit", job(tmp_path))
        found = await asyncio.to_thread(run, *asked)
        assert found.exit_code == 0, found.output
        lines = [line for line in found.stdout.splitlines() if "http" in line]
        assert [line.split()[0] for line in lines] == [words.FIRST + ",", east.url]
        assert west.url in lines[0]
        assert words.AT_ONCE in lines[0]
        assert words.NOT_FORESEEN in lines[1]
        alone = await asyncio.to_thread(run, "--live", west.url, "--submit", job(tmp_path), "-o", "json")
        assert json.loads(alone.stdout)["changes"]["submitted"][0]["name"] == "default/new"
        refused = await asyncio.to_thread(run, *asked, "--to", "best")
        assert failure(refused) == words.no_api(west.url)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--live", "http://a:1", "--live", "http://b:1"), words.SUBMIT_ONLY),
        (("--live", "http://a:1", "--live", "http://b:1", "--submit", "JOB", "--drain", "n"), words.SUBMIT_ONLY),
        (("--live", "http://a:1", "--clusters", "x", "--submit", "JOB"), words.LIVE_AND_CLUSTERS),
        (("--live", "--submit", "JOB", "--to", "best"), words.TO_WITHOUT_CLUSTERS),
        (
            ("--live", "http://a:1", "--live", "http://a:1", "--submit", "JOB"),
            words.named_twice("--live", "http://a:1"),
        ),
    ],
    ids=["nothing to submit", "another change", "two ways", "one cluster", "one twice"],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    printed = failure(run(*(job(tmp_path) if each == "JOB" else each for each in arguments)))
    assert says in " ".join(printed.split())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("clusters: []", words.how_many_clusters("FILE", 0, 100)),
        ("clusters: [{name: a}]", "FILE: Object missing required field `daemon` - at `$.clusters[0]`"),
        (
            "clusters: [{name: a, daemon: b, tokenfile: c}]",
            "FILE: Object contains unknown field `tokenfile` - at `$.clusters[0]`",
        ),
        ("clusters: [{name: a, daemon: b}, {name: a, daemon: c}]", words.named_twice("FILE", "a")),
        ("clusters: [", "FILE: "),
    ],
    ids=["none", "one without a daemon", "an unknown field", "one twice", "no YAML"],
)
def test_a_file_of_clusters_that_is_wrong_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "clusters.yaml"
    path.write_text(text)
    with pytest.raises(BadInput) as refused:
        by_file(path)
    assert str(refused.value).startswith(says.replace("FILE", str(path)))


def test_files_beside_the_file_of_clusters_are_found(tmp_path: Path) -> None:
    path = tmp_path / "clusters.yaml"
    path.write_text("clusters: [{name: a, daemon: 'https://a:1', tokenFile: token, context: prod}]")
    (found,) = by_file(path)
    assert found.target.token_file == tmp_path / "token"
    assert found.api is not None
    assert (found.api.kubeconfig, found.api.context) == (None, "prod")


def an_answer(cluster: str, seconds: float, displaced: int = 0, problem: str = "") -> ClusterAnswer:
    evicted = EvictionChange("ns/p", "n1", "reclaim", "ns/new", then=True)
    return ClusterAnswer(cluster, seconds=seconds, displaced=(evicted,) * displaced, problem=problem)


@pytest.mark.parametrize(
    ("answers", "first", "least"),
    [
        ([an_answer("a", 0.0, 3), an_answer("b", 60.0)], "a", "b"),
        ([an_answer("a", 0.0, 3), an_answer("b", 0.0, 1)], "b", "b"),
        ([an_answer("b", 5.0), an_answer("a", 5.0)], "a", "a"),
        ([an_answer("a", float("inf"))], None, None),
        ([an_answer("a", 0.0, problem="silent"), an_answer("b", 9.0)], "b", "b"),
        ([], None, None),
    ],
    ids=[
        "one at once by evictions, one later without",
        "both at once",
        "equal ones by name",
        "none is known to start it",
        "one that does not answer",
        "none",
    ],
)
def test_the_best_cluster(answers: list[ClusterAnswer], first: str | None, least: str | None) -> None:
    found = best(answers), cheapest(answers)
    assert [answer and answer.cluster for answer in found] == [first, least]
