"""Plans with Kubernetes' own PodGroups: what is predicted of them is what a daemon then does at an embedded cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from click.testing import CliRunner

from tests.support import devices
from tests.support.claiming import NS, cluster_with, machine
from tests.support.native_claims import group, member, members
from tests.support.plans import manifests
from tests.support.running import digested, nodes_of, scheduling
from tests.support.waiting import until
from vsched.cli import cli
from vsched.cli.plan.live import WhatIf, what_if
from vsched.cli.plan.submit import submit_of
from vsched.cli.plan.words import objects as objects_words
from vsched.daemon.app import Daemon
from vsched.errors import BadInput
from vsched.model.dump.cycle import Recording, decode

Obj = dict[str, Any]
NEWER, OLDER = "v1beta1", "v1alpha2"
TEMPLATE: Obj = {
    "apiVersion": devices.API_VERSION,
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "gpus", "namespace": NS},
    "spec": {"spec": {"devices": {"requests": [devices.request()]}}},
}


def job(size: int, **spec: Any) -> Obj:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "4"}}}
    pod = {"schedulerName": "vsched", "restartPolicy": "Never", "containers": [container]}
    wanted = {"parallelism": size, "completions": size, "completionMode": "Indexed", "template": {"spec": pod}, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": NS}, "spec": wanted}


def tree(minimum: int) -> list[Obj]:
    """A tree of two groups, with its Workload and pods."""
    templates = [{"name": name, "schedulingPolicy": {"gang": {"minCount": 2}}} for name in ("a", "b")]
    policy = {"gang": {"minGroupCount": minimum}}
    root = {"name": "root", "schedulingPolicy": policy, "podGroupTemplates": templates}
    made: list[Obj] = [
        {
            "apiVersion": f"scheduling.k8s.io/{NEWER}",
            "kind": "Workload",
            "metadata": {"name": "w", "namespace": NS},
            "spec": {"compositePodGroupTemplates": [root]},
        },
        {
            "apiVersion": f"scheduling.k8s.io/{NEWER}",
            "kind": "CompositePodGroup",
            "metadata": {"name": "root", "namespace": NS},
            "spec": {"workloadRef": {"workloadName": "w", "templateName": "root"}, "schedulingPolicy": policy},
        },
    ]
    for name in ("a", "b"):
        one = group(name, 2)
        one["spec"] |= {
            "parentCompositePodGroupName": "root",
            "workloadRef": {"workloadName": "w", "templateName": name},
        }
        made += [one, *members(name, 2, cpu="4")]
    return made


GANG = {"scheduling": {"schedulingPolicy": {"gang": {}}}}
SHARED = {"gpu": "template/gpus"}


async def dumped(daemon: Daemon) -> Recording:
    """The next session of the daemon."""
    url = f"http://127.0.0.1:{daemon.ports['--listen-address']}/dump"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        assert answer.status == 200, await answer.text()
        return decode(await answer.read())


def placed(found: WhatIf) -> dict[str, str]:
    return {bind.name: bind.node for report in found.then.reports for bind in report.binds}


def written(folder: Path, objects: list[Obj]) -> str:
    path = folder / "new.yaml"
    path.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("version", "objects", "starts"),
    [
        pytest.param(NEWER, [job(4, **GANG)], 4, id="a Job that asks for a gang that fits"),
        pytest.param(NEWER, [job(5, **GANG)], 0, id="a Job that asks for a gang that does not"),
        pytest.param(NEWER, [job(5)], 4, id="a Job that asks for none"),
        pytest.param(OLDER, [job(5)], 0, id="in v1alpha2 each Indexed Job is a gang"),
        pytest.param(NEWER, [group("g", 3), *members("g", 4, cpu="4")], 4, id="a PodGroup and its pods"),
        pytest.param(NEWER, [*members("g", 5, cpu="4"), group("g", 5)], 0, id="one without room, in any order"),
        pytest.param(NEWER, tree(2), 4, id="a tree of groups"),
        pytest.param(
            NEWER, [TEMPLATE, group("g", 2, **SHARED), *members("g", 2, **SHARED)], 2, id="pods that share a device"
        ),
        pytest.param(
            NEWER,
            [TEMPLATE, group("g", 3, **SHARED), *members("g", 3, cpu="4", **SHARED)],
            0,
            id="pods that share a device on a node without room for all",
        ),
    ],
)
async def test_what_is_submitted_goes_where_it_was_predicted(
    tmp_path: Path, version: str, objects: list[Obj], starts: int
) -> None:
    known = [devices.device_class(), devices.resource_slice("n1", 1), devices.resource_slice("n2", 1)]
    async with (
        cluster_with(*known, nodes=[machine("n1"), machine("n2")], native=(version,)) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0") as daemon,
    ):
        # A group that is there tells which version the cluster serves.
        cluster.apply([group("seen", 1, version), member("seen-0", "seen", cpu="0")])
        await until(lambda: len(nodes_of(cluster, "seen")) == 1)
        await digested(cluster, daemon)
        predicted = what_if(await dumped(daemon), [submit_of(written(tmp_path, objects))])
        assert len(placed(predicted)) == starts, predicted.notes
        assert not predicted.then.ignored

        cluster.apply(objects)
        await until(lambda: len(nodes_of(cluster)) == starts + 1)
        await digested(cluster, daemon)
        there = nodes_of(cluster)
        there.pop("seen-0")
        assert sorted(there.values()) == sorted(placed(predicted).values())
        [fate] = predicted.changes.submitted
        assert (fate.placed, bool(fate.message)) == (starts, starts < fate.pods)


@pytest.mark.parametrize(
    ("objects", "says"),
    [
        pytest.param(
            [group("root-a", 1)],
            'new.yaml:document 1: podgroups.scheduling.k8s.io "root-a" already exists',
            id="a PodGroup that is there",
        ),
        pytest.param([{**group("x", 1), "spec": {}}], "spec.schedulingPolicy", id="one that the API server refuses"),
        pytest.param(
            [member("late", "a")],
            objects_words.belongs_to_existing("", "Pod", "default/late", "CompositePodGroup default/root"),
            id="a part of a tree that is there",
        ),
    ],
)
async def test_what_cannot_be_planned_is_refused_with_its_place(tmp_path: Path, objects: list[Obj], says: str) -> None:
    async with (
        cluster_with(nodes=[machine("n1")], native=(NEWER,)) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0") as daemon,
    ):
        cluster.apply([*tree(1), group("root-a", 1), member("own", "root-a")])
        await until(lambda: "own" in nodes_of(cluster))
        await digested(cluster, daemon)
        recording = await dumped(daemon)
        with pytest.raises(BadInput) as error:
            what_if(recording, [submit_of(written(tmp_path, objects))])
        assert says in str(error.value)
        assert "new.yaml" in str(error.value)


@pytest.mark.parametrize(
    ("objects", "nodes"),
    [
        pytest.param([job(2, **GANG)], 2, id="a Job that asks for a gang that fits"),
        pytest.param([job(3, **GANG)], 0, id="one that does not fit"),
        pytest.param([job(3)], 2, id="a Job without a gang"),
        pytest.param([group("other", 1, OLDER), job(3)], 0, id="among groups of v1alpha2 each Indexed Job is a gang"),
        pytest.param(
            [
                devices.device_class(),
                devices.resource_slice("n1", 1),
                TEMPLATE,
                *members("g", 2, **SHARED),
                group("g", 2, **SHARED),
            ],
            2,
            id="pods that share a device",
        ),
    ],
)
def test_plans_from_manifests_alone(objects: list[Obj], nodes: int) -> None:
    text = yaml.safe_dump_all([*manifests("node n1 cpu=4\nnode n2 cpu=4"), *objects])
    result = CliRunner().invoke(cli, ["plan", "-f", "-", "-o", "json"], input=text)
    assert result.exit_code == 0, result.output
    assert sum(len(cycle["binds"]) for cycle in json.loads(result.stdout)["cycles"]) == nodes
