"""Another table of workload kinds takes the place of one: the mirror ends up as if it had always had the new one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest

from tests.support.operators import Obj, Seen, made_of, sample
from vsched import api
from vsched.mirror.ingest.workload_kinds import WorkloadTable, read_again_for
from vsched.settings.workloads import built_in_table, table_of

NAMES = ("jobset", "pytorchjob", "raycluster", "podgang", "leaderworkerset", "job")
TABLES = {
    "none": "builtIn: false",
    "the built-in one": "",
    "with one kind described otherwise": "workloads: [{apiVersions: [ray.io/v1], kind: RayCluster, "
    "label: ray.io/cluster, roles: [{name: head, pods: {ray.io/node-type: head}}, {name: worker, replicas: 2}]}]",
    "with one kind only": "{builtIn: false, workloads: [{apiVersions: [kubeflow.org/v1], kind: PyTorchJob, "
    "minimum: 2}]}",
    "with all pods of a kind by themselves": "workloads: [{apiVersions: [jobset.x-k8s.io/v1alpha2], kind: JobSet, "
    "split: [{pod: true}]}]",
}


def table(text: str) -> WorkloadTable:
    return table_of(text, "file", built_in_table())


def everything() -> list[Obj]:
    return [each for name in NAMES for obj in (sample(name),) for each in (obj, *made_of(obj))]


def listed(seen: Seen, kinds: Sequence[str]) -> None:
    """Lists of these kinds, of objects that have not changed since they were told."""
    seen.version = 0
    found = [seen.read(obj) for obj in everything()]
    for kind in kinds:
        seen.cache.intake.replace(kind, [each for name, each in found if name == kind])


@pytest.mark.parametrize(("before", "after"), [*pairwise([*TABLES, "the built-in one", "none"])])
def test_after_the_lists_that_are_asked_for_it_is_as_with_the_new_table_from_the_start(before: str, after: str) -> None:
    fresh, seen = Seen(TABLES[after]), Seen(TABLES[before])
    fresh.tell(*everything())
    seen.tell(*everything())
    seen.gangs()
    seen.workloads = table(TABLES[after])
    followed = {kind.id for kind in seen.cache.intake.workloads.followed}
    again = seen.cache.intake.use_workloads(seen.workloads)
    listed(seen, sorted({*again, *({kind.id for kind in seen.workloads.followed} - followed)}))
    assert (seen.gangs(), seen.waiting(), seen.sizes()) == (fresh.gangs(), fresh.waiting(), fresh.sizes())


def test_until_then_gangs_of_kinds_that_stay_are_what_they_were() -> None:
    seen = Seen()
    seen.tell(*everything())
    before = seen.gangs()
    built_in = built_in_table()
    ray = msgspec.structs.replace(built_in.by_id["RayCluster.ray.io"], minimum=2)
    others = tuple(kind for kind in built_in.kinds if kind.id != ray.id)
    assert seen.cache.intake.use_workloads(WorkloadTable((ray, *others))) == {ray.id}, "no pod has to be read again"
    assert seen.gangs() == before
    listed(seen, [ray.id])
    assert seen.gangs()["raycluster-lab"] == (2, {}, 5)


def test_pods_are_read_again_only_where_it_is_another_question_which_of_them_matter() -> None:
    built_in = built_in_table()
    assert read_again_for(built_in, built_in, api.OWNERS) == frozenset()
    again = read_again_for(table(TABLES["none"]), built_in, api.OWNERS)
    assert again == {"Pod", "PodGroup", *api.OWNERS, *built_in.by_id}
