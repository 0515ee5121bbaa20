"""Pictures of sessions on clusters of a few lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.support.overviews import session
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of
from vsched.cluster.manifests import Origin, decode_manifests
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.arbitration import Award
from vsched.model.frozen import freeze
from vsched.model.queue import ROOT, Queue
from vsched.model.usage import Figures, NodeUsage, Reading
from vsched.settings.built_in import REGISTRY
from vsched.web import picture_jobs
from vsched.web.deltas import apply
from vsched.web.history import MOST_SESSIONS, History
from vsched.web.overview import Overview
from vsched.web.picture_nodes import per_cent
from vsched.web.picture_queues import lineage, tree
from vsched.web.pictures import Around, bare_picture, following, nothing_changed, picture
from vsched.web.sights import Sight

GIB = 1 << 30
CAPACITY = policy_of("priority gang", "drf predicates capacity")
AROUND = Around(at=NOW, role="leader")


def sight(text: str, policy: Policy = DEFAULT_POLICY) -> Sight:
    """What a session makes of a cluster."""
    snapshot = mirror(manifests(text)).snapshot(NOW)
    return Sight(freeze(snapshot), policy, run_cycle(snapshot, policy, REGISTRY), 1)


def of(text: str, policy: Policy = DEFAULT_POLICY, before: Overview | None = None, **around: Any) -> Overview:
    """The picture of that session."""
    return picture(sight(text, policy), AROUND._replace(**around), before)


# -- resources


def names(found: Overview) -> list[str]:
    return [resource.name for resource in found.resources]


def test_cpu_and_memory_come_first_then_what_is_scarcest_and_pods_last() -> None:
    found = of("node n1 cpu=4 memory=8Gi gpu=2 disk=10Gi\njob ns/a min=1 pods=1 cpu=1 memory=4Gi gpu=1 disk=1Gi")
    assert names(found) == ["cpu", "memory", "example.com/gpu", "ephemeral-storage", "pods"]
    assert [resource.unit for resource in found.resources] == ["milli", "bytes", "milli", "bytes", "one"]
    assert [(resource.total, resource.held) for resource in found.resources] == [
        (4000, 1000),
        (8 * GIB, 4 * GIB),
        (2000, 1000),
        (10 * GIB, GIB),
        (110, 1),
    ]


def test_disks_that_nobody_asks_for_are_not_shown_but_devices_are() -> None:
    assert names(of("node n1 gpu=2 disk=10Gi")) == ["cpu", "memory", "example.com/gpu", "pods"]


def test_columns_keep_their_places_until_another_is_clearly_scarcer() -> None:
    def at(gpu: int, disk: int, before: Overview | None) -> Overview:
        return of(f"node n1 cpu=64 gpu=100 disk=100Gi\njob ns/a min=1 pods=1 gpu={gpu} disk={disk}Gi", before=before)

    first = at(50, 40, None)
    assert names(first)[2] == "example.com/gpu"
    second = at(50, 55, first)
    assert names(second)[2] == "example.com/gpu"
    assert names(at(50, 55, None))[2] == "ephemeral-storage"
    assert names(at(50, 65, second))[2] == "ephemeral-storage"


# -- queues


TREE = """
node n1 cpu=10
queue root
queue up parent=root deserved=cpu:6 capability=cpu:8
queue low parent=up deserved=cpu:4 guarantee=cpu:1 priority=7
queue other deserved=cpu:4 state=Closed
job ns/runs min=2 queue=low phase=Running
pods ns/runs 2 cpu=1 on=n1
job ns/waits min=3 pods=3 cpu=4 queue=low
job ns/old min=1 queue=other phase=Running
pods ns/old 1 cpu=1 on=n1
"""


def test_queues_stand_in_a_tree_with_all_that_is_below_them() -> None:
    found = of(TREE, CAPACITY).queues
    assert {name: row.parent for name, row in found.items()} == {"root": "", "up": "root", "low": "up", "other": "root"}
    assert [found[name].allocated[0] for name in ("root", "up", "low", "other")] == [3000, 2000, 2000, 1000]
    assert [found[name].jobs for name in ("root", "up", "low", "other")] == [3, 2, 2, 1]
    assert [found[name].waiting for name in ("root", "up", "low", "other")] == [1, 1, 1, 0]


def test_a_queue_says_what_it_states_and_none_where_it_states_nothing() -> None:
    low = of(TREE, CAPACITY).queues["low"]
    assert (low.deserved[0], low.deserved[1]) == (4000, None)
    assert (low.guarantee[0], low.guarantee[1]) == (1000, None)
    assert (low.priority, low.state) == (7, "Open")
    assert of(TREE, CAPACITY).queues["other"].state == "Closed"


def test_a_limit_of_none_is_not_the_absence_of_a_limit() -> None:
    found = of("node n1 gpu=4\nqueue q capability=gpu:0", policy_of("gang", "predicates")).queues["q"]
    assert (found.capability[0], found.capability[2]) == (None, 0)


RINGS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "nobody above": ({"a": "", "b": ""}, {"a": "", "b": ""}),
    "somebody who is not there": ({"a": "nowhere"}, {"a": ""}),
    "somebody who is not there, where there is a root": ({ROOT: "", "a": "nowhere"}, {ROOT: "", "a": ROOT}),
    "itself": ({"a": "a"}, {"a": ""}),
    "one another": ({ROOT: "", "a": "b", "b": "a"}, {ROOT: "", "a": ROOT, "b": "a"}),
    "a root below others": ({ROOT: "a", "a": "b", "b": ""}, {ROOT: "", "a": "b", "b": ROOT}),
}


@pytest.mark.parametrize(("parents", "expected"), RINGS.values(), ids=RINGS)
def test_trees_end_whatever_queues_say_is_above_them(parents: Mapping[str, str], expected: Mapping[str, str]) -> None:
    assert tree({name: Queue(name, parent=parent) for name, parent in parents.items()}) == expected


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["", ROOT, *"abcdef"])), st.booleans())
def test_no_tree_has_a_ring(parents: dict[str, str], rooted: bool) -> None:
    named = parents | ({ROOT: ""} if rooted else {})
    found = tree({name: Queue(name, parent=parent) for name, parent in named.items()})
    for name in found:
        assert len(list(_bounded(lineage(name, found), len(found)))) < len(found)
    assert all(above in found for above in found.values() if above)


def _bounded(found: Iterable[str], most: int) -> Iterable[str]:
    for number, each in enumerate(found):
        assert number < most
        yield each


# -- namespaces


def test_namespaces_that_hold_or_wait_have_a_row_in_each_queue() -> None:
    text = """
    node n1 cpu=2
    queue a
    queue b
    weight x 3
    job x/runs min=1 pods=1 cpu=2 queue=a
    job x/waits min=1 pods=1 cpu=2 queue=b age=-5
    job y/waits min=1 pods=1 cpu=2 queue=b age=-5
    """
    found = of(text, policy_of("gang", "predicates")).namespaces
    assert set(found) == {"a/x", "b/x", "b/y"}
    assert (found["a/x"].allocated[0], found["a/x"].weight, found["a/x"].share, found["a/x"].waiting) == (
        2000,
        3,
        1.0,
        0,
    )
    assert (found["b/x"].waiting, found["b/y"].waiting, found["b/y"].weight) == (1, 1, 1)
    assert found["b/y"].deserved == (None, None, None)


def test_what_a_namespace_deserves_is_told_where_the_cluster_is_divided_among_them() -> None:
    awards = {"x": Award(deserved={"cpu": 1500}, ceiling={})}
    found = of("node n1\njob x/a min=1 pods=1 cpu=1", awards=awards).namespaces["default/x"]
    assert found.deserved == (1500, None, None)


# -- nodes


NODES = {
    "nothing is held": ("node n1", (0, 0, 0), ""),
    "a little is more than nothing": ("node n1 cpu=1000\npods ns/a 1 cpu=1 on=n1", (1, 0, 1), ""),
    "nearly all is not all": ("node n1 cpu=1000\npods ns/a 1 cpu=999 on=n1", (99, 0, 1), ""),
    "more than all": ("node n1 cpu=2\npods ns/a 1 cpu=3 on=n1", (150, 0, 1), ""),
    "a device that another node has": ("node n1\nnode n2 gpu=1", (0, 0, None, 0), ""),
    "cordoned": ("node n1 cordoned", (0, 0, 0), "cordoned"),
    "tainted": ("node n1 taint=dedicated:yes", (0, 0, 0), "tainted"),
    "not ready": ("node n1 cordoned taint=node.kubernetes.io/not-ready:", (0, 0, 0), "notready"),
}


@pytest.mark.parametrize(("text", "allocated", "state"), NODES.values(), ids=NODES)
def test_nodes(text: str, allocated: tuple[int | None, ...], state: str) -> None:
    row = of(text).nodes["n1"]
    assert (row.allocated, row.state) == (allocated, state)


def test_what_the_session_binds_is_on_its_node_at_once() -> None:
    found = of("node n1 cpu=4\njob ns/a min=2 pods=2 cpu=1")
    assert (found.nodes["n1"].allocated[0], found.nodes["n1"].pods) == (50, 2)
    assert found.resources[0].held == 2000
    assert found.counts["pods_running"] == 2


POOLS = {
    "its node group": ("volcano.sh/nodegroup-name=fast node.kubernetes.io/instance-type=m5", "fast"),
    "its instance type": ("node.kubernetes.io/instance-type=m5 nvidia.com/gpu.product=H100", "m5"),
    "its accelerator": ("nvidia.com/gpu.product=H100", "H100"),
    "none": ("zone=a", ""),
}


@pytest.mark.parametrize(("labels", "pool"), POOLS.values(), ids=POOLS)
def test_a_node_belongs_to(labels: str, pool: str) -> None:
    assert of(f"node n1 {labels}").nodes["n1"].group == pool


USED: dict[str, tuple[NodeUsage | None, tuple[int | None, int | None]]] = {
    "nobody collects anything": (None, (None, None)),
    "of the usual period": (
        NodeUsage(NOW, {"1m": Figures(9.0), "5m": Figures(63.4)}, {"5m": Figures(40.6)}),
        (63, 41),
    ),
    "of another one": (NodeUsage(NOW, {"1h": Figures(12.0)}), (12, None)),
    "long past": (NodeUsage(NOW - 3600.0, {"5m": Figures(63.0)}), (None, None)),
}


@pytest.mark.parametrize(("usage", "shown"), USED.values(), ids=USED)
def test_measured_usage(usage: NodeUsage | None, shown: tuple[int | None, int | None]) -> None:
    cache = mirror(manifests("node n1\nnode n2"))
    if usage is not None:
        cache.use(Reading(NOW, {"n1": usage}))
    snapshot = cache.snapshot(NOW)
    seen = Sight(freeze(snapshot), DEFAULT_POLICY, run_cycle(snapshot, DEFAULT_POLICY, REGISTRY), 1)
    rows = picture(seen, AROUND).nodes
    assert (rows["n1"].cpu_usage, rows["n1"].memory_usage) == shown
    assert (rows["n2"].cpu_usage, rows["n2"].memory_usage) == (None, None)


@given(st.lists(st.tuples(st.integers(0, 1 << 45), st.integers(0, 1 << 45)), max_size=20))
def test_per_cents_tell_something_from_nothing_and_all_from_nearly_all(amounts: list[tuple[int, int]]) -> None:
    held, total = (np.array([pair[which] for pair in amounts], dtype=np.int64) for which in (0, 1))
    for part, (has, of_all) in zip(per_cent(held, total), amounts, strict=True):
        if not of_all:
            assert part is None
            continue
        assert part is not None
        assert (part == 0) is (has == 0)
        assert (part >= 100) is (has >= of_all)


# -- jobs


JOBS = """
node n1 cpu=4
queue q
class high 9
job ns/runs min=1 queue=q phase=Running
pods ns/runs 1 cpu=2 on=n1
job ns/starts min=2 pods=2 cpu=1 queue=q class=high
job ns/waits min=3 pods=3 cpu=2 queue=q age=60
job ns/empty min=2 queue=q
job ns/done min=1 queue=q phase=Completed
pods ns/done 1 cpu=1 on=n1 succeeded
"""


def test_jobs_stand_as_the_session_left_them() -> None:
    found = of(JOBS, policy_of("priority gang", "predicates"), positions={"ns/waits": 1})
    rows = found.jobs
    assert set(rows) == {"ns/runs", "ns/starts", "ns/waits", "ns/empty"}
    assert (rows["ns/starts"].ready, rows["ns/starts"].pending, rows["ns/starts"].request) == (2, 0, (0, 0, 0))
    assert (rows["ns/starts"].priority, rows["ns/starts"].reason, rows["ns/starts"].message) == (9, "", "")
    waits = rows["ns/waits"]
    assert (waits.min_member, waits.ready, waits.pending, waits.running) == (3, 0, 3, 0)
    assert (waits.position, waits.request, waits.created) == (1, (6000, 0, 3), NOW - 60.0)
    assert waits.reason
    assert waits.message
    assert rows["ns/empty"].reason
    assert (rows["ns/runs"].running, rows["ns/runs"].position) == (1, None)
    counts = ("jobs_running", "jobs_waiting", "pods_waiting", "jobs_left_out")
    assert [found.counts[name] for name in counts] == [2, 2, 3, 0]


def test_a_job_with_its_minimum_whose_other_pods_wait_runs_and_says_what_they_wait_for() -> None:
    text = "node n1 cpu=2\nqueue q\njob ns/a min=1 queue=q phase=Running\npods ns/a 1 cpu=1 on=n1\npods ns/a 1 cpu=8"
    found = of(text, policy_of("gang", "predicates"))
    assert found.counts["jobs_waiting"] == 0
    assert (found.jobs["ns/a"].pending, found.jobs["ns/a"].running) == (1, 1)


def test_the_list_is_bounded_and_keeps_those_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_jobs, "MOST_JOBS", 2)
    found = of(JOBS, policy_of("priority gang", "predicates"), positions={"ns/waits": 2, "ns/empty": 1})
    assert "ns/waits" in found.jobs
    assert len(found.jobs) == 2
    assert found.counts["jobs_left_out"] == 2
    assert found.queues["q"].jobs == 4


# -- the whole


def test_a_picture_that_shows_nothing_new_is_the_one_before() -> None:
    first, _ = following(of(JOBS), None)
    later = of(JOBS, before=first, at=NOW + 1.0, sessions=(replace(session(3), binds=0),))
    assert first.number == 1
    assert following(later, first) == (first, None)


@pytest.mark.parametrize(
    "around",
    [
        pytest.param({"role": "stopping"}, id="another role"),
        pytest.param({"bound": 1}, id="a binding was taken"),
        pytest.param({"sessions": (session(4),)}, id="a session that bound something"),
        pytest.param({"positions": {"ns/waits": 1}}, id="a place in the order"),
    ],
)
def test_a_picture_that_shows_anything_new_has_the_next_number(around: dict[str, Any]) -> None:
    first, _ = following(of(JOBS), None)
    found, change = following(of(JOBS, before=first, **around), first)
    assert change is not None
    assert (found.number, change.number, change.since) == (2, 2, 1)
    assert apply(change, first) == found


def test_a_daemon_that_decides_nothing_shows_what_it_is() -> None:
    found = bare_picture(Around(NOW, "standby"))
    assert (found.role, found.queues, found.resources) == ("standby", {}, ())
    assert set(found.counts) == set(of(JOBS).counts)


STILL = "node n1 cpu=2\nqueue q\njob ns/a min=1 queue=q pods=1 cpu=4\n"
CHANGES = {
    "a job that comes": f"{STILL}job ns/new min=1 pods=1 cpu=9 queue=q",
    "a job that goes": STILL.partition("job")[0],
    "another weight of a queue": STILL.replace("queue q\n", "queue q weight=2\n"),
    "another weight of a namespace": f"{STILL}weight ns 3",
    "a cordoned node": STILL.replace("cpu=2", "cpu=2 cordoned"),
    "somebody else's pod": f"{STILL}pods other/x 1 cpu=1 on=n1",
    "room for what waits": STILL.replace("cpu=2", "cpu=8"),
}


class Seen:
    """Sessions on one mirror, a second apart."""

    def __init__(self) -> None:
        self.cache = mirror(manifests(STILL))
        self._now = NOW

    def change(self, text: str) -> None:
        """What there is from now on."""
        decoded = decode_manifests((Origin("text", str(at)), found) for at, found in enumerate(manifests(text)))
        for kind in {*decoded.objects, "PodGroup", "Pod"}:
            self.cache.replace(kind, decoded.objects.get(kind, []))

    def look(self) -> Sight:
        self._now += 1.0
        snapshot = self.cache.snapshot(self._now)
        return Sight(freeze(snapshot), DEFAULT_POLICY, run_cycle(snapshot, DEFAULT_POLICY, REGISTRY), 1)


@pytest.mark.parametrize("text", CHANGES.values(), ids=CHANGES)
def test_whatever_changes_is_drawn_anew(text: str) -> None:
    seen = Seen()
    seen.look()
    before = seen.look()
    seen.change(text)
    assert not nothing_changed(before, seen.look())


def test_figures_of_usage_are_drawn_anew() -> None:
    seen = Seen()
    seen.look()
    before = seen.look()
    seen.cache.use(Reading(NOW, {"n1": NodeUsage(NOW, {"5m": Figures(63.0)})}))
    assert not nothing_changed(before, seen.look())


def test_sessions_that_change_nothing_are_not_drawn_anew() -> None:
    seen = Seen()
    seen.look()
    before, after = seen.look(), seen.look()
    assert nothing_changed(before, after)
    assert picture(before, AROUND) == picture(after, AROUND)


# -- the time line


def test_sessions_that_do_nothing_count_as_one_and_the_oldest_are_forgotten() -> None:
    history = History()
    for number in range(3 * MOST_SESSIONS):
        history.add(replace(session(number), binds=number % 3 == 0, evictions=0))
    numbers = [row.number for row in history.rows()]
    assert len(numbers) == MOST_SESSIONS
    assert numbers[-3:] == [3 * MOST_SESSIONS - 4, 3 * MOST_SESSIONS - 3, 3 * MOST_SESSIONS - 1]
