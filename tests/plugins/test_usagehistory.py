"""usage-history: who used much goes later and gets less, until use evens out."""

from __future__ import annotations

from collections import Counter
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import with_history
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_from
from vsched.errors import BadInput
from vsched.explain.estimate.passing import Decided, Passing
from vsched.explain.explaining import explain
from vsched.explain.order import waiting_order
from vsched.explain.queues import explain_queue
from vsched.explain.words import reasons
from vsched.framework.cycle import run_actions, run_cycle
from vsched.framework.policy import Policy
from vsched.framework.reports.effects import decided
from vsched.framework.trace import Trace
from vsched.kernels.fairness import weights_with_memory
from vsched.model.history.records import Decay, Holder
from vsched.model.jobs.spec import USER
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.plugins.words.victims import USED_LESS
from vsched.settings.built_in import REGISTRY

DAY = Decay(86_400.0, 604_800.0)
POLICY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: usage-history
{args}
- plugins:
  - name: drf
  - name: predicates
{divider}
  - name: nodeorder
"""


def policy(divider: str = "", **args: str) -> Policy:
    lines = "".join(f"\n      {key}: {value}" for key, value in args.items())
    text = POLICY.format(
        args=f"    arguments:{lines}" if args else "", divider=f"  - name: {divider}" if divider else ""
    )
    return policy_from(text)


@pytest.mark.parametrize(
    ("weights", "used", "whole", "strength", "expected"),
    [
        pytest.param([1, 1], [0, 0], 1, 1, [0.5, 0.5], id="without use weights decide"),
        pytest.param([1, 3], [0, 0], 1, 1, [0.25, 0.75], id="also unequal ones"),
        pytest.param([1, 3], [0.25, 0.75], 1, 1, [0.25, 0.75], id="who used what its weight stands for keeps it"),
        pytest.param([1, 1], [0.3, 0.0], 1, 1, [0.7 / 1.7, 1 / 1.7], id="who used nothing gets more"),
        pytest.param([1, 1], [1.0, 0.0], 1, 1, [0.0, 1.0], id="who had everything gets nothing for now"),
        pytest.param([1, 1], [1.0, 0.0], 1, 0.5, [0.25, 0.75], id="a smaller k changes less"),
        pytest.param([1, 1], [1.0, 0.0], 1, 0, [0.5, 0.5], id="a k of 0 changes nothing"),
        pytest.param(
            [1, 1], [1.0, 1.0], 1, 1, [0.5, 0.5], id="parts that add up to more than all are parts of their sum"
        ),
        pytest.param([1, 1], [0.5, 0.0], 0.5, 1, [0.0, 1.0], id="the whole may be a part of the cluster"),
        pytest.param([0, 0], [0.5, 0.5], 1, 1, [0.0, 0.0], id="without weights nobody gets anything"),
    ],
)
def test_weights_with_memory(
    weights: list[float], used: list[float], whole: float, strength: float, expected: list[float]
) -> None:
    found = weights_with_memory(np.array(weights, float), np.array(used, float), whole, strength)
    np.testing.assert_allclose(found, expected)


@given(
    st.lists(st.tuples(st.floats(0.1, 100.0), st.floats(0.0, 2.0)), min_size=1, max_size=8),
    st.floats(0.01, 1.0),
    st.floats(0.0, 10.0),
)
def test_weights_with_memory_add_up_to_one_and_fall_as_use_grows(
    holders: list[tuple[float, float]], whole: float, strength: float
) -> None:
    weights, used = (np.array(column) for column in zip(*holders, strict=True))
    found = weights_with_memory(weights, used, whole, strength)
    assert found.sum() == pytest.approx(1.0) or not found.any()
    by_ratio = np.argsort(used / weights, kind="stable")
    assert (np.diff((found / weights)[by_ratio]) <= 1e-9).all()


# -- orders

TWO_QUEUES = """
node n1 cpu=8
queue a
queue b
job x/a1 pods=8 min=1 cpu=1 queue=a age=90
job x/b1 pods=8 min=1 cpu=1 queue=b
"""


def bound(text: str, found: Policy, used: dict[Holder, float], cluster: float = 8.0) -> Counter[str]:
    """How many pods of each job start."""
    snapshot = with_history(mirror(manifests(text)).snapshot(NOW), DAY, cluster, used)
    return Counter(bind.job for bind in run_cycle(snapshot, found, REGISTRY).binds)


@pytest.mark.parametrize("divider", [pytest.param("", id="no division"), pytest.param("proportion", id="proportion")])
@pytest.mark.parametrize(
    ("used", "expected"),
    [
        pytest.param({}, (4, 4), id="without use, equal weights get equal parts"),
        pytest.param({Holder("a", "x"): 4.0, Holder("b", "x"): 4.0}, (4, 4), id="so do they with equal use"),
        pytest.param({Holder("a", "x"): 8.0}, (0, 8), id="who had all the cluster waits for who had nothing"),
        pytest.param({Holder("a", "y"): 8.0}, (0, 8), id="all namespaces of a queue count"),
    ],
)
def test_queues(divider: str, used: dict[Holder, float], expected: tuple[int, int]) -> None:
    found = bound(TWO_QUEUES, policy(divider), used)
    assert (found["x/a1"], found["x/b1"]) == expected


def test_who_had_something_gets_less_than_who_had_nothing() -> None:
    found = bound(TWO_QUEUES, policy(), {Holder("a", "x"): 3.2})
    assert (found["x/a1"], found["x/b1"]) == (3, 5)


def test_between_large_gangs_the_one_whose_queue_used_less_goes_first_though_it_is_younger() -> None:
    text = TWO_QUEUES.replace("min=1", "min=8")
    found = bound(text, policy(), {Holder("a", "x"): 4.0, Holder("b", "x"): 2.0})
    assert (found["x/a1"], found["x/b1"]) == (0, 8)


@pytest.mark.parametrize("divider", [pytest.param("", id="no division"), pytest.param("proportion", id="proportion")])
@pytest.mark.parametrize(
    "holds", [pytest.param(0, id="while it holds nothing"), pytest.param(1, id="with a pod running")]
)
def test_who_had_all_still_gets_what_nobody_else_asks_for(divider: str, holds: int) -> None:
    text = "node n1 cpu=8\nqueue a\nqueue b\njob x/a1 pods=8 min=1 cpu=1 queue=a\njob x/b1 pods=2 min=1 cpu=1 queue=b"
    if holds:
        text += f"\njob x/a0 pods={holds} min=1 cpu=1 queue=a on=n1"
    found = bound(text, policy(divider), {Holder("a", "x"): 8.0})
    assert (found["x/a1"], found["x/b1"]) == (6 - holds, 2)


def test_what_a_queue_deserves_is_not_touched() -> None:
    text = TWO_QUEUES.replace("queue a\n", "queue a deserved=cpu:3\n", 1).replace(
        "queue b\n", "queue b deserved=cpu:1\n", 1
    )
    found = bound(text, policy("capacity"), {Holder("a", "x"): 8.0})
    assert (found["x/a1"], found["x/b1"]) == (3, 5)


def test_a_guarantee_is_not_touched() -> None:
    text = TWO_QUEUES.replace("queue a\n", "queue a guarantee=cpu:2\n", 1)
    found = bound(text, policy("proportion"), {Holder("a", "x"): 8.0})
    assert (found["x/a1"], found["x/b1"]) == (2, 6)


def test_priority_of_queues_goes_before_use() -> None:
    text = TWO_QUEUES.replace("queue a\n", "queue a priority=5\n", 1)
    found = bound(text, policy(), {Holder("a", "x"): 8.0})
    assert (found["x/a1"], found["x/b1"]) == (8, 0)


TREE = """
node n1 cpu=8
queue left
queue right
queue a parent=left
queue b parent=left
queue c parent=right
job x/a1 pods=8 min=1 cpu=1 queue=a
job x/b1 pods=8 min=1 cpu=1 queue=b
job x/c1 pods=8 min=1 cpu=1 queue=c
"""


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        pytest.param({}, (2, 2, 4), id="without use, siblings get equal parts"),
        pytest.param(
            {Holder("a", "x"): 4.0, Holder("c", "x"): 4.0}, (0, 4, 4), id="siblings are compared with each other"
        ),
        pytest.param({Holder("a", "x"): 4.0, Holder("b", "x"): 4.0}, (0, 0, 8), id="and so are the queues above them"),
    ],
)
def test_a_tree_of_queues(used: dict[Holder, float], expected: tuple[int, ...]) -> None:
    text = POLICY.replace("- name: usage-history\n", "- name: usage-history\n    enableHierarchy: true\n")
    found = bound(TREE, policy_from(text.format(args="", divider="")), used)
    assert tuple(found[f"x/{name}1"] for name in "abc") == expected


SPACES = """
node n1 cpu=8
job x/one pods=8 min=1 cpu=1 age=90
job y/two pods=8 min=1 cpu=1
"""


@pytest.mark.parametrize(
    ("used", "args", "expected"),
    [
        pytest.param({}, {}, (4, 4), id="namespaces without use get equal parts"),
        pytest.param({Holder("default", "x"): 8.0}, {}, (0, 8), id="the one with use comes last"),
        pytest.param({Holder("other", "x"): 8.0}, {}, (4, 4), id="use in another queue does not count"),
        pytest.param({Holder("default", "x"): 8.0}, {"namespaces": "false"}, (4, 4), id="unless switched off"),
    ],
)
def test_namespaces(used: dict[Holder, float], args: dict[str, str], expected: tuple[int, int]) -> None:
    found = bound(SPACES, policy(**args), used)
    assert (found["x/one"], found["y/two"]) == expected


PEOPLE = f"""
node n1 cpu=8
job x/ann pods=8 min=1 cpu=1 age=90 {USER}=ann
job x/ben pods=8 min=1 cpu=1 age=80 {USER}=ben
job x/ben2 pods=8 min=1 cpu=1 age=70 {USER}=ben
"""


@pytest.mark.parametrize(
    ("used", "args", "expected"),
    [
        pytest.param({}, {}, (4, 4), id="users without use get equal parts, however many jobs they have"),
        pytest.param({Holder("default", "x", "ann"): 8.0}, {}, (0, 8), id="the one with use comes last"),
        pytest.param({Holder("default", "x", "ann"): 4.0}, {}, (3, 5), id="who used half gets a little less"),
    ],
)
def test_users(used: dict[Holder, float], args: dict[str, str], expected: tuple[int, int]) -> None:
    found = bound(PEOPLE, policy(**args), used)
    assert (found["x/ann"], found["x/ben"] + found["x/ben2"]) == expected


def test_only_resources_with_weights_count() -> None:
    used = {Holder("a", "x"): 8.0}
    found = bound(TWO_QUEUES, policy(resourceWeights="{memory: 1}"), used)
    assert found["x/b1"] < 8


@pytest.mark.parametrize(
    ("args", "line"),
    [
        pytest.param({"window": "200h"}, "window", id="a window of more than a week"),
        pytest.param({"window": "0s"}, "window", id="no window"),
        pytest.param({"halfLife": "-1h"}, "halfLife", id="a negative half-life"),
        pytest.param({"kValue": "-1"}, "kValue", id="a negative k"),
        pytest.param({"halflife": "1h"}, "halflife", id="a key that does not exist"),
    ],
)
def test_bad_arguments_are_refused(args: dict[str, str], line: str) -> None:
    with pytest.raises(BadInput, match=line):
        policy(**args)


def test_a_half_life_of_zero_means_no_decay() -> None:
    assert policy(halfLife="0s").decays() == (Decay(inf, 604_800.0),)


# -- over time


def lasting(number: int) -> int:
    """Seconds that a pod runs: different ones, so that places become free one after the other."""
    return 40 + number * 7 % 40


@pytest.mark.parametrize(
    ("weights", "first", "divider"),
    [
        pytest.param((1, 1), "a", "", id="equal weights"),
        pytest.param((1, 3), "b", "", id="unequal weights, the heavier had everything"),
        pytest.param((3, 1), "b", "proportion", id="unequal weights, the lighter had everything, with a division"),
    ],
)
def test_with_equal_demand_use_converges_to_weights(weights: tuple[int, int], first: str, divider: str) -> None:
    half_life = 200.0
    decay = Decay(half_life, 604_800.0)
    pods = "".join(f"\njob x/{queue}-{number} pods=1 cpu=1 queue={queue}" for queue in "ab" for number in range(130))
    text = f"node n1 cpu=8\nqueue a weight={weights[0]}\nqueue b weight={weights[1]}{pods}"
    cluster = mirror(manifests(text))
    cluster.history.keep([decay])
    origin = with_history(cluster.snapshot(NOW), decay, 8 * half_life / 3600 / np.log(2), {Holder(first, "x"): 1.9})
    passing, found, now = Passing(origin), policy(divider, halfLife="200s"), NOW
    ends: dict[str, float] = {}
    snapshot = origin
    for _ in range(60):
        session = run_actions(snapshot, found, REGISTRY, Trace())
        phases = {job.key: job.phase for job in session.jobs.values()}
        settled = passing.settle(Decided(decided(session), phases), now)
        for number, task in enumerate(settled.started):
            ends[task.uid] = now + lasting(len(ends) + number)
        now += 20.0
        over = [uid for uid, end in ends.items() if end <= now]
        passing.end([task for uid in over if (task := passing.task(uid)) is not None])
        for uid in over:
            del ends[uid]
        snapshot = passing.at(now, frozenset(passing.jobs))
    history = snapshot.history
    amounts = history.used(decay)[:, history.resources.index("cpu")].tolist()
    used = {holder: amount for holder, amount in zip(history.holders, amounts, strict=True) if amount}
    share = used[Holder("a", "x")] / (used[Holder("a", "x")] + used[Holder("b", "x")])
    assert share == pytest.approx(weights[0] / sum(weights), abs=0.08)


# -- what people are told


def told(text: str, used: dict[Holder, float], found: Policy | None = None) -> tuple[Snapshot, CycleReport, Policy]:
    snapshot = with_history(mirror(manifests(text)).snapshot(NOW), DAY, 8.0, used)
    found = found or policy()
    return snapshot, run_cycle(snapshot, found, REGISTRY), found


def test_an_explanation_says_how_many_times_its_share_a_queue_used() -> None:
    snapshot, report, found = told(TWO_QUEUES, {Holder("a", "x"): 6.0, Holder("b", "x"): 1.0})
    assert report.queues["a"].used_times == pytest.approx(1.5)
    said = explain_queue(snapshot, found, REGISTRY, report, "a", simulations=0)
    assert said is not None
    assert said.notes == (reasons.used_times_its_share("a", 1.5, "1h"),)
    job = explain(snapshot, found, REGISTRY, report, "x", "a1", simulations=0)
    assert job is not None
    assert job.notes == (reasons.others_go_first(said.notes[0]),)


def test_a_queue_that_used_less_than_its_share_is_not_told_so_with_each_job() -> None:
    snapshot, report, found = told(TWO_QUEUES, {Holder("b", "x"): 1.0})
    job = explain(snapshot, found, REGISTRY, report, "x", "b1", simulations=0)
    assert job is not None
    assert job.notes == ()


@pytest.mark.parametrize(
    ("text", "used", "key", "why"),
    [
        pytest.param(SPACES, Holder("default", "x"), "x/one", f"namespace y {USED_LESS}", id="a namespace"),
        pytest.param(PEOPLE, Holder("default", "x", "ann"), "x/ann", f"user ben {USED_LESS}", id="a user"),
    ],
)
def test_the_place_in_the_order_says_whose_use_decided(text: str, used: Holder, key: str, why: str) -> None:
    snapshot, _, found = told(text, {used: 8.0})
    place = waiting_order(snapshot, found, REGISTRY).place(key)
    assert place is not None
    assert place.message.endswith(why)


def test_without_the_plugin_nothing_is_said_of_use() -> None:
    snapshot = with_history(mirror(manifests(TWO_QUEUES)).snapshot(NOW), DAY, 8.0, {Holder("a", "x"): 8.0})
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    assert report.queues["a"].used_times is None
