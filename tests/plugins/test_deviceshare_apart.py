"""deviceshare keeps pods apart: of one job by the policy for its devices, and those that match an exclusive rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st

from tests.support import builders as make
from tests.support.device_worlds import World
from tests.support.deviceshare import IDS, VGPU, asking, device_policy, devices, part, pods, vgpu_node
from tests.support.examples import examples
from tests.support.plans import NOW, Plan, decide, mirror, policy_from
from vsched.errors import BadInput
from vsched.framework.ledger.ledger import EvictionCause
from vsched.model.memo import Memo
from vsched.model.pods.status import Status
from vsched.plugins.devices.neighbours import Neighbours, as_rule
from vsched.plugins.devices.tables import device_tables
from vsched.plugins.words import arguments as argument_words
from vsched.plugins.words import devices as words

Obj = dict[str, Any]
SPREAD = {"volcano.sh/vgpu-podgroup-policy": "spread"}
TRAINING = ", deviceshare.GPUExclusiveRules: [{app: train}]"
TWO_RULES = ", deviceshare.GPUExclusiveRules: [{app: train}, {app: batch, urgent: 'yes'}]"
SMALL = asking(vgpu_number=1, vgpu_memory=10)


def held(name: str, ids: str, labels: str = "", **annotations: str) -> list[Obj]:
    """A running job of one pod on n1 that holds this."""
    line = f"job ns/{name} min=0 phase=Running\npods ns/{name} 1 on=n1" + (f" labels={labels}" if labels else "")
    return pods(line, SMALL, **{IDS: ids}, **annotations)


def waiting(name: str, count: int, labels: str = "", container: Obj = SMALL, **annotations: str) -> list[Obj]:
    line = f"job ns/{name} min=1\npods ns/{name} {count}" + (f" labels={labels}" if labels else "")
    return pods(line, container, **annotations)


def decided(*objects: Obj, more: str = "", actions: str = "allocate", cycles: int = 1) -> Plan:
    policy = policy_from(device_policy(VGPU + more, actions))
    return decide(list(objects), policy, cycles=cycles)


def numbers(plan: Plan) -> dict[str, list[int]]:
    """By pod: the numbers of the devices that it got."""
    said = {bind.name: dict(bind.annotations).get(IDS, "") for report in plan.reports for bind in report.binds}
    return {name: [int(one[4]) for one in ids.split(":") if one] for name, ids in said.items()}


# -- pods of one job ------------------------------------------------------------------------------------------------


def test_pods_of_a_job_that_spreads_use_a_device_each() -> None:
    found = decided(vgpu_node("n1", devices(4)), *waiting("j", 4, **SPREAD))
    assert sorted(numbers(found).values()) == [[0], [1], [2], [3]]


def test_other_jobs_share_devices_with_it() -> None:
    found = decided(
        vgpu_node("n1", devices(3)), *waiting("a", 3, **SPREAD), *waiting("b", 3), *waiting("c", 2, **SPREAD)
    )
    got = numbers(found)
    assert sorted(got[f"a.{at}"] for at in range(3)) == [[0], [1], [2]]
    assert [got[f"b.{at}"] for at in range(3)] == [[2]] * 3, "the last one, as ever"
    assert got["c.0"] != got["c.1"]


@pytest.mark.parametrize(
    ("of_holder", "of_pod", "got"),
    [
        pytest.param({}, SPREAD, [0], id="a pod of the same job counts, whatever it says itself"),
        pytest.param(SPREAD, {}, [1], id="a pod that says nothing shares devices"),
    ],
)
def test_pods_that_run_count(of_holder: dict[str, str], of_pod: dict[str, str], got: list[int]) -> None:
    job = "job ns/j min=0 phase=Running"
    running = pods(f"{job}\npods ns/j 1 on=n1", SMALL, **{IDS: part(1, 10, 0)}, **of_holder)
    new = [one for one in pods(f"{job}\npods ns/j 2", SMALL, **of_pod) if one["kind"] == "Pod"][1:]
    found = decided(vgpu_node("n1", devices(2)), *running, *new)
    assert list(numbers(found).values()) == [got]


def test_the_containers_of_a_pod_may_share_a_device() -> None:
    found = decided(vgpu_node("n1", devices(1)), *pods("job ns/j min=1 pods=1", SMALL, SMALL, **SPREAD))
    assert list(found.nodes.values()) == ["n1"]


def test_a_job_with_more_pods_than_devices_waits_and_says_why() -> None:
    found = decided(vgpu_node("n1", devices(2)), *waiting("j", 3, **SPREAD))
    assert sorted(numbers(found).values()) == [[0], [1]]
    assert found.why("ns/j.2").endswith(f"1 {words.too_few(1, words.APART_FROM_JOB)}.")


# -- exclusive rules ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "holder", "pod", "got"),
    [
        pytest.param(TRAINING, "app:train", "app:train", [0], id="pods of one rule share no device"),
        pytest.param(TRAINING, "app:train", "app:serve", [1], id="others share one with them"),
        pytest.param(TRAINING, "app:serve", "app:train", [1], id="and they with others"),
        pytest.param(TRAINING, "app:train,x:y", "app:train,z:w", [0], id="further labels do not matter"),
        pytest.param(TWO_RULES, "app:batch,urgent:yes", "app:batch", [1], id="all labels of a rule have to match"),
        pytest.param(TWO_RULES, "app:train", "app:batch,urgent:yes", [1], id="pods of two rules share devices"),
        pytest.param("", "app:train", "app:train", [1], id="no rules"),
    ],
)
def test_which_device_a_pod_gets_by_exclusive_rules(more: str, holder: str, pod: str, got: list[int]) -> None:
    found = decided(vgpu_node("n1", devices(2)), *held("a", part(1, 10, 0), holder), *waiting("j", 1, pod), more=more)
    assert numbers(found) == {"j.0": got}


def test_pods_of_a_rule_wait_until_a_device_is_free_of_them() -> None:
    four = asking(vgpu_number=4, vgpu_memory=10)
    found = decided(
        vgpu_node("n1", devices(8)),
        *waiting("a", 1, "app:train", four),
        *waiting("b", 1, "app:train", four),
        *waiting("c", 1, "app:train"),
        *waiting("d", 1),
        more=TRAINING,
    )
    assert numbers(found) == {"a.0": [4, 5, 6, 7], "b.0": [0, 1, 2, 3], "d.0": [7]}
    assert found.why("ns/c.0").endswith(f"1 {words.too_few(1, words.APART_BY_RULE)}.")


def test_a_victim_leaves_its_device_to_a_pod_of_the_same_rule() -> None:
    urgent = pods("class high 10\njob ns/u min=1 class=high\npods ns/u 1 labels=app:train", SMALL)
    found = decided(
        vgpu_node("n1", devices(1)),
        *held("low", part(0, 10, 0), "app:train"),
        *urgent,
        more=TRAINING,
        actions='"allocate, preempt"',
        cycles=2,
    )
    assert [len(some) for some in found.evicted] == [1, 0]
    assert not found.reports[0].binds, "the victim is still there"
    assert numbers(found) == {"u.0": [0]}


def test_rules_do_not_count_where_gpus_are_divided_by_mig() -> None:
    gpu = devices(1, memory=40960, model="NVIDIA-A100-SXM4-40GB", mode="mig")
    found = decided(vgpu_node("n1", gpu), *waiting("j", 2, "app:train"), more=TRAINING)
    assert len(found.nodes) == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(
            "deviceshare.VGPUEnable: true, deviceshare.GPUExclusiveRules: [{}]",
            argument_words.RULE_WITHOUT_LABELS,
            id="a rule that says nothing",
        ),
        pytest.param(
            "deviceshare.GPUExclusiveRules: [{app: a}]",
            argument_words.RULES_WITHOUT_VGPU,
            id="rules without vGPUs",
        ),
    ],
)
def test_rules_that_are_refused(arguments: str, problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        policy_from(f"actions: allocate\ntiers:\n- plugins:\n  - name: deviceshare\n    arguments: {{{arguments}}}")
    assert problem in str(caught.value)


# -- properties -----------------------------------------------------------------------------------------------------


RULE_OF = {"x": 0, "y": 1}


@settings(deadline=None, max_examples=examples(40))
@given_any(st.lists(st.sampled_from(["x", "y", "z"]), min_size=1, max_size=8), st.integers(0, 2), st.data())
def test_pods_of_one_rule_never_meet_and_what_is_undone_is_as_it_was(
    apps: list[str], before: int, data: st.DataObject
) -> None:
    ids = [part(number, 10, 0) if number < before else "" for number in range(len(apps))]
    rules = [{"app": app} for app in RULE_OF]
    world = World({"n1": devices(2), "n2": devices(1)}, [SMALL] * len(apps), ids, apps=apps, rules=rules)
    books, tags, places = world.books, dict[str, tuple[int, ...]](), np.arange(2)
    stays, waits, goes = set[str](), set[str](), set[str]()

    def by_hand(app: str, uids: set[str]) -> list[list[bool]]:
        """The devices that these pods use, if they have this label."""
        found = np.zeros((2, 2), np.bool_)
        for uid in uids:
            held = books.holds(uid)
            if app in RULE_OF and tags[uid] == (RULE_OF[app],) and held is not None:
                found[[one.slot for some in held.parts for one in some], held.place] = True
        return found.tolist()

    def picture() -> object:
        return [books.used_by((tag,), places, later=later).tolist() for tag in (0, 1) for later in (False, True)]

    pictures = [(0, picture())]
    for job, task in zip(world.jobs, world.tasks, strict=True):
        app = dict(task.labels.pairs)["app"]
        avoided = tags[task.uid] = books.avoided_by(task)
        assert avoided == ((RULE_OF[app],) if app in RULE_OF else ())
        if task.node:
            stays.add(task.uid)
            if data.draw(st.booleans()):
                goes.add(task.uid)
                world.ledger.evict(job, task, world.nodes.statics.row[task.node], EvictionCause("preempt", ""))
        else:
            row = data.draw(st.integers(0, 1))
            place = books.place_of[row]
            assert task.shape.devices is not None
            for later in (False, True):
                users = (stays | waits) - goes if later and books.in_motion else stays | waits
                taken = by_hand(app, users)
                assert books.used_by(avoided, places, later=later).tolist() == taken
                passes = books.fit(task.shape.devices, avoided, later=later).passes[place]
                free = [slot for slot in range(len(books.found[place].devices)) if not taken[slot][place]]
                assert passes == bool(free), "there is memory enough for all"
                if passes:
                    (waits if later else stays).add(task.uid)
                    world.ledger.place(job, task, row, Status.PIPELINED if later else Status.ALLOCATED)
                    held = books.holds(task.uid)
                    assert held is not None
                    assert [one.slot for some in held.parts for one in some] == free[-1:]
                    break
        pictures.append((len(world.ledger.log), picture()))
    for mark, found in reversed(pictures):
        world.ledger.undo_to(mark)
        assert picture() == found


@settings(deadline=None, max_examples=examples(30))
@given_any(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.booleans()), max_size=8))
def test_only_nodes_whose_pods_have_changed_are_looked_at_again(steps: list[tuple[int, int, bool]]) -> None:
    nodes = [vgpu_node("n1", devices(2)), vgpu_node("n2", devices(2))]
    found = mirror(nodes)
    rules = [as_rule({"app": "x"})]
    there: dict[int, list[Obj]] = {}
    for number, slot, comes in steps:
        if comes:
            line = f"job ns/j{number} min=0 phase=Running\npods ns/j{number} 1 on=n{1 + number % 2} labels=app:x"
            there[number] = pods(line, SMALL, **{IDS: part(slot, 10, 0)})
        else:
            there.pop(number, None)
        for kind in ("PodGroup", "Pod"):
            found.intake.replace(
                kind, [make.read(one) for some in there.values() for one in some if one["kind"] == kind]
            )
        snapshot = found.snapshot(NOW)
        tables = device_tables(snapshot.device_shares, snapshot.nodes, "vgpu")
        statics = snapshot.nodes.statics
        kept = Neighbours(tables, statics, "vgpu", rules).used_at((0,), np.arange(len(tables.rows)), later=False)
        before, statics.memo = statics.memo, Memo()
        anew = Neighbours(tables, statics, "vgpu", rules).used_at((0,), np.arange(len(tables.rows)), later=False)
        statics.memo = before
        assert kept.tolist() == anew.tolist()


def test_other_rules_do_not_get_what_was_kept_for_these() -> None:
    lines = [*held("a", part(0, 10, 0), "app:x"), *held("b", part(1, 10, 0), "app:y")]
    snapshot = mirror([vgpu_node("n1", devices(2)), *lines]).snapshot(NOW)
    tables = device_tables(snapshot.device_shares, snapshot.nodes, "vgpu")
    found = [
        Neighbours(tables, snapshot.nodes.statics, "vgpu", [as_rule({"app": app})]).used_at(
            (0,), np.arange(1), later=False
        )
        for app in "xyx"
    ]
    assert [mask[:, 0].tolist() for mask in found] == [[True, False], [False, True], [True, False]]


def test_nodes_are_ranked_by_the_devices_that_a_pod_may_use() -> None:
    objects = [vgpu_node("n1", devices(2)), vgpu_node("n2", devices(2)), *held("a", part(0, 9000, 0), "app:train")]
    fuller = ", deviceshare.SchedulePolicy: binpack, deviceshare.ScheduleWeight: 10"
    other = pods("job ns/b min=0 phase=Running\npods ns/b 1 on=n2", SMALL, **{IDS: part(0, 5000, 0)})
    found = decided(*objects, *other, *waiting("j", 1, "app:train"), more=TRAINING + fuller)
    assert list(found.nodes.values()) == ["n2"], "the device of n1 that is fuller is not for this pod"
    found = decided(*objects, *other, *waiting("j", 1, "app:serve"), more=TRAINING + fuller)
    assert list(found.nodes.values()) == ["n1"]
