"""The mirror's books of namespaces: who holds and waits for what, whatever happens in whatever order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mirror import arbitrated as of
from tests.mirror.accounts.parties import Fields, Parties, published
from tests.mirror.streams import decide, sometimes, streams, take_back
from tests.support import builders as make
from tests.support.examples import examples
from tests.support.mirrors import World
from tests.support.views import task_view, view
from vsched import api
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.amounts.counted import counted_name
from vsched.model.arbitration.records import Arbitration, Ceiling, NamespaceAccount, PoolLimits
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task

GONE = {"deletionTimestamp": "2026-08-01T10:00:00Z"}
OTHERS = {"schedulerName": "default-scheduler"}
GIB = 1 << 30


def stranger(name: str, cpu: str = "1", **fields: Any) -> Fields:
    return make.merged(make.pod(name, spec=OTHERS | {"containers": [make.container(cpu)]}), fields)


def limited(name: str, limit: str, **fields: Any) -> Fields:
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": limit}}}
    return make.merged(make.pod(name, spec={"containers": [container]}), fields)


# Pods


@pytest.mark.parametrize(
    ("pod", "held", "leaving", "waiting"),
    [
        pytest.param(make.pod(node="n1"), 1, 0, 0, id="one that runs holds"),
        pytest.param(make.pod(node="n1", status=make.BOUND), 1, 0, 0, id="one that is bound holds"),
        pytest.param(
            make.pod(node="n1", status={"phase": "Pending"}), 0, 0, 0, id="one not taken by its node does not"
        ),
        pytest.param(make.pod(node="n1", status={"phase": "Unknown"}), 1, 0, 0, id="one nobody hears of holds"),
        pytest.param(make.pod(node="n1", metadata=GONE), 1, 1, 0, id="one on its way out holds and leaves"),
        pytest.param(make.pod(node="n1", status={"phase": "Succeeded"}), 0, 0, 0, id="one that is done holds nothing"),
        pytest.param(make.pod(node="n9"), 1, 0, 0, id="one on a node that was not seen holds"),
        pytest.param(make.pod(), 0, 0, 1, id="one without a node waits"),
        pytest.param(make.pod(group="none"), 0, 0, 1, id="one of a gang that does not exist waits"),
        pytest.param(make.pod(spec=OTHERS), 0, 0, 1, id="one of another scheduler waits"),
        pytest.param(make.pod(spec=OTHERS, group="pg"), 0, 0, 1, id="one of another scheduler's gang waits"),
        pytest.param(
            make.pod(spec={"schedulingGates": [{"name": "g"}]}), 0, 0, 0, id="one behind a gate does not wait"
        ),
        pytest.param(make.pod(metadata=GONE), 0, 0, 0, id="one that goes before it came does not wait"),
        pytest.param(make.pod(status={"phase": "Failed"}), 0, 0, 0, id="one that never came does not wait"),
        pytest.param(stranger("p", "9"), 0, 0, 0, id="one that no node could hold does not wait"),
        pytest.param(make.pod(node="n1", spec={"affinity": 1}), 1, 0, 0, id="one that cannot be read holds its node"),
    ],
)
def test_what_a_pod_counts_as(pod: Fields, held: int, leaving: int, waiting: int) -> None:
    here = Parties(make.node("n1"), make.namespace("ns"), pod)
    party = here.party()

    assert party.held == ({"cpu": 1000, "pods": 1} if held else {})
    assert party.leaving == ({"cpu": 1000, "pods": 1} if leaving else {})
    assert party.waiting == ({"cpu": 1000, "pods": 1} if waiting else {})
    assert here.held() == ({"cpu": 1000, "pods": 1} if held and not leaving else {})
    finished = pod["status"]["phase"] in ("Succeeded", "Failed")
    assert set(party.tasks) == (set() if finished else {"uid-p"})


def test_what_is_decided_counts_before_the_watch_shows_it() -> None:
    here = Parties(make.node("n1"), make.pod_group(), make.pod("a", group="pg"), make.pod("b", node="n1", group="pg"))

    here.bind(make.pod("a"))
    assert (here.party().held["cpu"], here.party().waiting) == (2000, {})
    here.cache.assumptions.assume(
        CycleReport(evictions=(Evict("uid-b", "ns", "b", "n1", "ns/pg", "arbitrate", "other/c"),))
    )
    assert (here.party().held["cpu"], here.party().leaving["cpu"], here.held()["cpu"]) == (2000, 1000, 1000)
    here.cache.assumptions.forget("uid-a")
    here.cache.assumptions.forget("uid-b")
    assert (here.party().held["cpu"], here.party().leaving, here.party().waiting["cpu"]) == (1000, {}, 1000)
    here.delete(make.pod("b"))
    assert (here.party().held, here.held()) == ({}, {})


def test_pods_of_other_schedulers_may_be_evicted_like_ours() -> None:
    here = Parties(make.node("n1"), stranger("s", spec={"nodeName": "n1"}, status={"phase": "Running"}))
    here.cache.assumptions.assume(CycleReport(evictions=(Evict("uid-s", "ns", "s", "n1", "", "arbitrate", "other/c"),)))

    assert (here.party().leaving["cpu"], here.held()) == (1000, {})
    here.cache.assumptions.spare("uid-s")
    here.cache.assumptions.forget("uid-s")
    assert (here.party().leaving, here.held()["cpu"]) == ({}, 1000)
    assert here.party().tasks["uid-s"].spared


def test_a_pod_that_asks_for_another_amount() -> None:
    here = Parties(make.node("n1"), stranger("s", "1"))

    here.add(stranger("s", "3"))
    assert here.party().waiting == {"cpu": 3000, "pods": 1}
    for cpu in ("3", "2"):
        here.add(stranger("s", cpu, spec={"nodeName": "n1"}, status={"phase": "Running"}))
    assert (here.party().held, here.held()["cpu"]) == ({"cpu": 2000, "pods": 1}, 2000)


def test_limits_count_beside_requests() -> None:
    here = Parties(
        make.node("n1"),
        limited("a", "2", spec={"nodeName": "n1"}, status={"phase": "Running"}),
        limited("b", "3", spec={"nodeName": "n1"}, status={"phase": "Running"}, metadata=GONE),
        limited("c", "4"),
        limited("d", "4"),
    )
    party = here.party()

    assert party.held == {"cpu": 2000, "pods": 2, "limits.cpu": 5000}
    assert party.leaving == {"cpu": 1000, "pods": 1, "limits.cpu": 3000}
    assert party.waiting == {"cpu": 2000, "pods": 2, "limits.cpu": 8000}
    assert here.held() == {"cpu": 1000, "pods": 1, "limits.cpu": 2000}
    here.bind(limited("c", "4"))
    assert here.held() == {"cpu": 2000, "pods": 2, "limits.cpu": 6000}
    for name in "abc":
        here.delete(limited(name, "1"))
    snapshot = here.snapshot()
    assert (here.held(), dict(snapshot.held), dict(snapshot.held_limits)) == ({}, {}, {})


def test_what_a_pod_waits_for_depends_on_the_nodes_there_are() -> None:
    here = Parties(stranger("small", "2"), stranger("large", "9"))

    assert here.party().waiting == {}, "without any node nobody can be served"
    here.add(make.node("n1"))
    version = here.arbitration().version
    assert here.party().waiting == {"cpu": 2000, "pods": 1}
    here.add(make.node("n2", metadata={"labels": {"zone": "a"}}))
    assert here.arbitration().version == version, "one more of the same changes nothing"
    here.add(make.node("n2", status={"allocatable": {"cpu": "16"}}))
    assert here.party().waiting == {"cpu": 11000, "pods": 2}
    here.delete(make.node("n2"))
    assert here.party().waiting == {"cpu": 2000, "pods": 1}
    here.add(stranger("gpu", spec={"containers": [{"name": "m", "resources": {"limits": {"example.com/gpu": 1}}}]}))
    assert here.party().waiting == {"cpu": 2000, "pods": 1}
    here.add(make.node("n1", status={"allocatable": {"example.com/gpu": 1}}))
    assert here.party().waiting == {"cpu": 2000, "pods": 2, "example.com/gpu": 1000}


def test_absurd_requests_are_nobodys() -> None:
    here = Parties(make.node("n1"), stranger("p", "9999999999999999999999"))

    assert here.party().waiting == {}


def test_pods_of_other_schedulers_without_a_node_disturb_nothing_else() -> None:
    objects = (make.node("n1"), make.queue(), make.pod_group(), make.pod("a", group="pg"))
    waiting = stranger("s", metadata={"annotations": {"scheduling.k8s.io/group-name": "pg"}})
    here, without = Parties(*objects, waiting), World(*objects)

    assert view(here.snapshot()) == view(without.snapshot())
    assert here.party().tasks["uid-s"].job == ""
    assert here.wakes_for(stranger("s", "2")), "but they are a reason to arbitrate"


@pytest.mark.parametrize("first", ["PodGroup", "Pod"])
def test_what_a_pod_that_cannot_be_used_holds_does_not_depend_on_who_asked_before(first: str) -> None:
    unoffered = {"cpu": "1", "example.com/gpu": "1"}
    spec = {"containers": [{"name": "main", "resources": {"requests": unoffered}}]}
    broken = make.pod(node="n1", spec=spec, metadata={"annotations": {"volcano.sh/task-priority": "not a number"}})
    objects = [make.pod_group("pg", spec={"minResources": {"example.com/gpu": "1"}}), broken]
    here = Parties(make.node("n1"), *sorted(objects, key=lambda each: each["kind"] != first))

    assert ("Pod", "uid-p") in here.cache.broken
    assert here.held() == {"cpu": 1000, "pods": 1, "example.com/gpu": 1000}
    here.delete(objects[0])
    assert here.held() == {"cpu": 1000, "pods": 1, "example.com/gpu": 1000}


# Namespaces, quotas, weights


def test_a_namespace_is_there_while_anything_is_known_of_it() -> None:
    here = Parties()
    things = (
        make.namespace("ns"),
        make.pod(),
        of.volume_claim(),
        of.consumer(),
        of.allocation(),
        make.limits(spec={"hard": {"cpu": 1}}),
    )

    for thing in things:
        assert here.arbitration().parties == {}
        here.add(thing)
        assert list(here.arbitration().parties) == ["ns"]
        here.delete(thing)
    assert here.arbitration().parties == {}
    assert {name for name, size in here.cache.describe().items() if size} <= {"shapes", "snapshots"}


def test_a_namespace_on_its_way_out() -> None:
    here = Parties(make.namespace("ns"))

    assert not here.party().terminating
    assert here.wakes_for(make.namespace("ns", status={"phase": "Terminating"}))
    assert here.party().terminating
    here.add(make.namespace("ns"))
    assert not here.party().terminating
    here.add(make.namespace("ns", metadata=GONE))
    assert here.party().terminating


def test_the_tightest_of_its_quotas_limits_a_namespace_and_the_largest_weight_counts() -> None:
    here = Parties(
        make.namespace("ns"),
        make.limits("a", spec={"hard": {"cpu": 3, "limits.cpu": 8, "volcano.sh/namespace.weight": 2}}),
        make.limits("b", spec={"hard": {"requests.cpu": 2, "requests.storage": "1Gi", "services": 1}}),
        make.limits("c", spec={"hard": {"cpu": 1}, "scopes": ["BestEffort"]}),
    )

    assert here.party().quota == {"cpu": 2000, "limits.cpu": 8000, "requests.storage": GIB}
    assert here.party().weight == 2
    assert here.wakes_for(make.limits("b", spec={"hard": {"requests.storage": "2Gi"}})), "storage is divided, too"
    assert here.party().quota == {"cpu": 3000, "limits.cpu": 8000, "requests.storage": 2 * GIB}
    here.add(make.quota("d", 5))
    assert here.party().weight == 5
    here.delete(make.quota("d", 5), make.limits("a"))
    assert (here.party().quota, here.party().weight) == ({"requests.storage": 2 * GIB}, 1)


# Consumers, Allocations, buckets


def created(name: str, second: int, **spec: Any) -> Fields:
    return of.consumer(name, metadata={"creationTimestamp": f"2026-08-01T10:00:0{second}Z"}, spec=spec)


def test_the_oldest_consumer_counts_and_by_name_among_equally_old_ones() -> None:
    here = Parties(created("a", 2), created("c", 1), created("b", 1), of.allocation("c"), of.allocation("b"))

    def names(party: NamespaceAccount) -> tuple[Any, ...]:
        claim = party.claim
        assert claim is not None
        return claim.name, [idle.name for idle in party.idle_claims], [found.name for found in party.allocations]

    assert names(here.party()) == ("b", ["c", "a"], ["b", "c"])
    here.delete(created("b", 1), of.allocation("c"))
    assert names(here.party()) == ("c", ["a"], ["b"])


def test_a_consumer_that_cannot_be_read_is_left_out_and_told_of_and_none_is_to_be_made_beside_it() -> None:
    here = Parties(created("c", 1, hard={"cpu": 1}))
    message = "Consumer ns/c: spec.hard.services: cannot be divided"

    assert not here.party().unreadable
    for broken in (created("c", 1, hard={"services": 1}), created("c", 1, weight="heavy")):
        assert here.wakes_for(broken)
        assert (here.party().claim, here.party().unreadable) == (None, True)
    here.add(created("c", 1, hard={"services": 1}))
    assert here.cache.broken["Consumer", "ns/c"].message.startswith(message)
    here.add(created("d", 2))
    assert here.party().claim is not None
    assert here.party().unreadable
    here.add(created("c", 1, hard={"cpu": 2}))
    assert not here.party().unreadable
    assert not here.cache.broken
    here.add(created("c", 1, weight=0))
    here.delete(created("c", 1), created("d", 2))
    assert here.arbitration().parties == {}


def test_buckets_by_name() -> None:
    here = Parties(of.bucket("b", spec={"weight": 2}), of.bucket("a"), of.bucket("c", spec={"weight": 0}))

    assert [(name, found.weight) for name, found in here.arbitration().buckets.items()] == [("a", 1), ("b", 2)]
    assert here.cache.broken["Bucket", "c"].message == "Bucket c: spec.weight: 0 (expected 1 to 2147483647)"
    here.delete(of.bucket("a"))
    assert list(here.arbitration().buckets) == ["b"]


@pytest.mark.parametrize(
    ("first", "then", "wakes"),
    [
        pytest.param(
            of.consumer(), of.consumer(spec={"weight": 2}), True, id="a Consumer that asks for something else"
        ),
        pytest.param(of.consumer(), of.consumer(status={"observedGeneration": 1}), False, id="a Consumer's status"),
        pytest.param(
            of.bucket(), of.bucket(spec={"hard": {"cpu": 1}}), True, id="a Bucket that asks for something else"
        ),
        pytest.param(of.bucket(), of.bucket(status={"deserved": {"cpu": 1}}), False, id="a Bucket's status"),
        pytest.param(of.allocation(), of.allocation(spec={"deserved": {"cpu": 1}}), False, id="an Allocation"),
        pytest.param(of.volume_claim(), of.volume_claim(size="2Gi"), True, id="a claim that grows"),
        pytest.param(of.volume_claim(), of.volume_claim(status={"phase": "Pending"}), False, id="a claim as it was"),
        pytest.param(of.volume_claim(), of.volume_claim(status={"phase": "Lost"}), True, id="a claim that is lost"),
        pytest.param(of.volume(), of.volume(size="2Gi"), True, id="a volume of another size"),
        pytest.param(make.namespace("ns"), make.namespace("ns"), False, id="a namespace as it was"),
    ],
)
def test_what_is_a_reason_to_decide(first: Fields, then: Fields, wakes: bool) -> None:
    here = Parties()

    assert here.wakes_for(first) or first["kind"] == "Allocation"
    assert here.wakes_for(then) is wakes
    here.wakes = 0
    here.delete(then)
    assert here.wakes, "what is gone always is"


# What is published


def test_the_version_grows_with_changes_and_only_with_them() -> None:
    here = Parties(make.node("n1"), make.namespace("ns"), make.pod(), of.consumer())
    before = here.arbitration()

    here.add(make.node("n1"), make.namespace("ns"), make.queue(), make.pod_group())
    assert here.arbitration() is before
    here.cache.intake.replace("PersistentVolume", [])
    assert here.arbitration() is before
    changes = (make.pod(node="n1"), of.bucket(), of.volume_claim(), of.allocation(), make.namespace("other"))
    for change in (*changes, of.volume(), of.allocation(status={"allocated": {"cpu": 1}})):
        here.add(change)
        after = here.arbitration()
        assert after.version > before.version, change
        before = after


def test_what_is_published_does_not_change_any_more_and_shares_what_did_not_change() -> None:
    here = Parties(make.node("n1"), make.pod("a"), make.pod("z", namespace="other"), of.bucket())
    first = here.arbitration()
    tasks, pending = dict(first.parties["ns"].tasks), dict(first.parties["ns"].pending)
    here.add(make.pod("b"), make.pod("a", node="n1"), of.bucket("c"))
    second = here.arbitration()

    assert (dict(first.parties["ns"].tasks), dict(first.parties["ns"].pending)) == (tasks, pending)
    assert (set(pending), set(second.parties["ns"].pending)) == ({"uid-a"}, {"uid-b"})
    assert (set(first.parties["ns"].tasks), set(second.parties["ns"].tasks)) == ({"uid-a"}, {"uid-a", "uid-b"})
    assert (list(first.buckets), list(second.buckets)) == (["b"], ["b", "c"])
    assert second.parties["other"] is first.parties["other"]
    here.add(make.pod("c", namespace="more"))
    assert list(here.arbitration().parties) == ["more", "ns", "other"], "in the order of names"


def test_ceilings_are_in_every_later_snapshot() -> None:
    here = Parties()
    ceilings, pools = {"ns": Ceiling({0: 1000}, pools=("area",))}, {"area": PoolLimits({0: 2000})}

    assert here.snapshot().ceilings == here.snapshot().pools == {}
    here.cache.inputs.set_ceilings(ceilings, pools)
    for _ in range(2):
        assert (here.snapshot().ceilings, here.snapshot().pools) == (ceilings, pools)


def test_where_nobody_arbitrates_such_objects_are_ignored() -> None:
    here = World(of.consumer(spec={"weight": 0}), make.pod(spec=OTHERS), make.pod("b", node="n1"), of.volume_claim())
    here.cache.intake.replace("Bucket", [make.read(of.bucket(spec={"weight": 0}))])

    assert here.cache.arbitration() == Arbitration({}, {})
    snapshot = here.snapshot()
    assert (snapshot.held, snapshot.held_limits, here.cache.held("ns"), here.cache.broken) == ({}, {}, {}, {})
    assert here.cache.task("uid-p") is None


# Whatever happens


def recounted(tasks: Mapping[str, Task], cache: Mirror, fits: Any) -> tuple[dict[str, int], ...]:
    """What pods hold, leave and wait for, counted one by one."""
    held: dict[str, int] = {}
    leaving: dict[str, int] = {}
    waiting: dict[str, int] = {}
    for task in tasks.values():
        sums = []
        if task.node and HOLDS[task.status].uses and task.status is not Status.UNTAKEN:
            sums = [held, leaving] if task.status is Status.RELEASING else [held]
        elif task.status is Status.PENDING and not task.gated and fits(task):
            sums = [waiting]
        for into in sums:
            for column, value in task.shape.request:
                name = counted_name(cache.axis.names[column])
                into[name] = into.get(name, 0) + value
            for name, value in task.shape.limits:
                into[name] = into.get(name, 0) + value
    return held, leaving, waiting


def is_counted_as(known: Task | None, task: Task) -> bool:
    """Whether a pod counts as it is, or as one behind a gate: so do those of jobs that are kept out."""
    if known is None or known is task:
        return known is task
    return msgspec.structs.astuple(msgspec.structs.replace(known, gated=True)) == msgspec.structs.astuple(task)


def check(cache: Mirror) -> None:
    """What is published is what counting again gives."""
    snapshot = cache.snapshot(0.0)
    known = cache.arbitration()
    capacities = [dict(allocatable) for _, allocatable in cache.nodes()]

    def fits(task: Task) -> bool:
        return any(all(has.get(column, 0) >= value for column, value in task.shape.request) for has in capacities)

    for namespace, party in known.parties.items():
        assert all(is_counted_as(cache.task(uid), task) for uid, task in party.tasks.items())
        assert party.pending == {
            uid: task for uid, task in party.tasks.items() if task.status is Status.PENDING and not task.gated
        }
        held, leaving, waiting = recounted(party.tasks, cache, fits)
        assert (party.held, party.leaving, party.waiting) == (held, leaving, waiting)
        kept = {name: value - leaving.get(name, 0) for name, value in held.items() if value != leaving.get(name, 0)}
        assert published(snapshot, namespace) == cache.held(namespace) == kept


def parties_view(cache: Mirror) -> dict[str, Any]:
    """What is divided and among whom as plain values."""
    known = cache.arbitration()
    return {
        name: (
            {field: getattr(party, field) for field in party.__struct_fields__ if field not in ("tasks", "pending")},
            {uid: task_view(cache.axis, task) for uid, task in party.tasks.items()},
        )
        for name, party in known.parties.items()
    } | {"": (known.buckets, known.storage)}


@st.composite
def arbitrated(draw: st.DrawFn) -> list[tuple[str, Fields]]:
    """Consumers, Allocations, buckets and namespaces that come and go."""
    name, weight = st.sampled_from(["a", "b"]), st.sampled_from([0, 1, 2])
    found = st.one_of(
        st.builds(lambda name, weight: of.consumer(name, spec={"weight": weight}), name, weight),
        st.builds(lambda name, cpu: of.allocation(name, spec={"deserved": {"cpu": cpu}}), name, weight),
        st.builds(lambda name, weight: of.bucket(name, spec={"weight": weight}), name, weight),
        st.builds(
            lambda phase: make.namespace("ns", status={"phase": phase}), st.sampled_from(["Active", "Terminating"])
        ),
    )
    types = st.sampled_from(["MODIFIED", "MODIFIED", "DELETED"])
    return draw(st.lists(st.tuples(types, found), max_size=8))


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(streams(), arbitrated(), st.data())
def test_whatever_happens_the_books_are_those_of_what_is_there(
    stream: tuple[list[Any], list[Fields]], more: list[tuple[str, Fields]], data: st.DataObject
) -> None:
    events, objects = stream
    cache, off = (
        Mirror(MirrorSettings(frozenset({"volcano"}), arbitrating=True)),
        Mirror(MirrorSettings(frozenset({"volcano"}))),
    )
    for type, kind, fields in events:
        cache.intake.apply(kind, type, make.read(fields))
        off.intake.apply(kind, type, make.read(fields))
        if data.draw(st.booleans(), label="check"):
            check(cache)
        if data.draw(sometimes, label="assume"):
            bind = data.draw(st.booleans(), label="bind")
            decide(cache, bind)
            decide(off, bind)
            check(cache)
    assert view(cache.snapshot(0.0)) == view(off.snapshot(0.0)), "arbitration disturbs nothing else"
    for number in range(4):
        cache.assumptions.forget(f"uid-p{number}")
    take_back(cache)
    there = {(fields["kind"], fields["metadata"]["name"]): fields for fields in objects}
    for type, fields in more:
        cache.intake.apply(fields["kind"], type, make.read(fields))
        identity = fields["kind"], fields["metadata"]["name"]
        there.pop(identity, None)
        if type != "DELETED":
            there[identity] = fields
    check(cache)
    fresh = Mirror(MirrorSettings(frozenset({"volcano"}), arbitrating=True))
    for kind in api.KINDS:
        fresh.intake.replace(kind, [make.read(fields) for fields in there.values() if fields["kind"] == kind])
    check(fresh)
    assert parties_view(cache) == parties_view(fresh)
    for kind in api.KINDS:
        cache.intake.replace(kind, [])
    cache.snapshot(0.0)
    assert cache.arbitration().parties == cache.arbitration().buckets == {}
    assert {name for name, size in cache.describe().items() if size} <= {"shapes", "snapshots"}
