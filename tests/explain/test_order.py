"""The order of waiting jobs, and what decides it: the keys that actions go by."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.explained import order_of
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of
from vsched.explain.order import ordinal
from vsched.explain.words import reasons
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.words.jobs import HIGHER_PRIORITY
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

NAMESPACES = policy_of("gang", "drf predicates", enableNamespaceOrder=True)
ACROSS = load_text(
    "actions: allocate\ntiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}]}]\n"
    "configurations: [{name: allocate, arguments: {JobOrderAcrossQueues: true}}]",
    "policy",
    REGISTRY,
).policy
FULL = "node n1 cpu=1\nclass high 1000\nqueue q\nqueue p"


@pytest.mark.parametrize(
    ("text", "policy", "positions", "decided_by", "message"),
    [
        pytest.param(
            "job ns/a queue=q min=1 pods=1 cpu=9",
            DEFAULT_POLICY,
            {"ns/a": 1},
            "",
            "1st of 1 in queue q",
            id="alone",
        ),
        pytest.param(
            "node n2 cpu=2\njob ns/a queue=q min=1 pods=1 cpu=9 class=high age=9\n"
            "job ns/lost queue=q min=2 phase=Running\npods ns/lost 1 cpu=1 on=n2\npods ns/lost 1 cpu=9 named=again",
            DEFAULT_POLICY,
            {"ns/lost": 1, "ns/a": 2},
            "lost pods",
            reasons.position_in_queue("2nd", 2, "q", f"ns/lost {reasons.LOST_PODS_FIRST}"),
            id="a running gang that lost a pod goes first",
        ),
        pytest.param(
            "node n2 cpu=2\njob ns/a queue=q min=1 pods=1 cpu=9\njob ns/r queue=q min=1\npods ns/r 1 cpu=1 on=n2",
            DEFAULT_POLICY,
            {"ns/a": 1},
            "",
            "1st of 1 in queue q",
            id="a job whose pods all run does not wait, whatever its phase says",
        ),
        pytest.param(
            "job ns/a queue=q min=1 pods=1 cpu=9 age=5\njob ns/b queue=q min=1 pods=1 cpu=9 age=9",
            DEFAULT_POLICY,
            {"ns/b": 1, "ns/a": 2},
            "age",
            reasons.position_in_queue("2nd", 2, "q", "ns/b is older"),
            id="the older first",
        ),
        pytest.param(
            "job ns/a queue=q min=1 pods=1 cpu=9\njob ns/A queue=q min=1 pods=1 cpu=9",
            DEFAULT_POLICY,
            {"ns/A": 1, "ns/a": 2},
            "name",
            reasons.position_in_queue("2nd", 2, "q", f"ns/A {reasons.FIRST_BY_NAME}"),
            id="of one age by name",
        ),
        pytest.param(
            "job ns/a queue=q min=1 pods=1 cpu=9 age=9\njob ns/b queue=q min=1 pods=1 cpu=9 class=high",
            DEFAULT_POLICY,
            {"ns/b": 1, "ns/a": 2},
            "priority",
            reasons.position_in_queue("2nd", 2, "q", f"ns/b {HIGHER_PRIORITY}"),
            id="priority before age",
        ),
        pytest.param(
            "job ns/a queue=q min=1 pods=1 cpu=9\njob ns/b queue=p min=1 pods=1 cpu=9 age=9",
            DEFAULT_POLICY,
            {"ns/b": 1, "ns/a": 1},
            "",
            "1st of 1 in queue q",
            id="each queue has its own",
        ),
        pytest.param(
            "job ns/o queue=q min=1 pods=1 cpu=1 on=n1 phase=Running\njob ns/a queue=q min=1 pods=1 cpu=9 age=9\n"
            "job x/b queue=q min=1 pods=1 cpu=9",
            NAMESPACES,
            {"x/b": 1, "ns/a": 2},
            "drf (namespaces)",
            reasons.position_in_queue("2nd", 2, "q", f"namespace x {reasons.goes_first_by('drf')}"),
            id="the namespace that holds less first",
        ),
        pytest.param(
            "job ns/a queue=q min=1 pods=1 cpu=9 age=9\njob ns/b queue=q min=1 pods=1 cpu=9 class=high",
            ACROSS,
            {"ns/b": 1, "ns/a": 2},
            "priority",
            reasons.position_in_queue("2nd", 2, "q", f"ns/b {HIGHER_PRIORITY}"),
            id="across queues by priority",
        ),
    ],
)
def test_where_a_job_stands_and_why(
    text: str, policy: Policy, positions: dict[str, int], decided_by: str, message: str
) -> None:
    order = order_of(f"{FULL}\n{text}", policy)
    place = order.place("ns/a")

    assert dict(order.positions()) == positions
    assert place is not None
    assert (place.decided_by, place.message) == (decided_by, message)
    assert (place.position, place.overall_of) == (positions["ns/a"], len(positions))


def test_those_right_before_a_job_are_named_the_nearest_first() -> None:
    jobs = "\n".join(f"job ns/j{age} queue=q min=1 pods=1 cpu=9 age={age}" for age in range(1, 7))
    place = order_of(f"{FULL}\n{jobs}").place("ns/j1")

    assert place is not None
    assert (place.position, place.of, place.ahead) == (6, 6, ("ns/j2", "ns/j3", "ns/j4"))


def test_what_does_not_wait_has_no_place() -> None:
    order = order_of(f"{FULL}\njob ns/a min=1 pods=1 cpu=1 on=n1 phase=Running\njob ns/b queue=gone min=1 pods=1")

    assert order.place("ns/a") is None
    assert order.place("ns/b") is None
    assert order.place("ns/nobody") is None


def test_the_overall_place_is_the_one_across_queues() -> None:
    text = f"{FULL}\njob ns/a queue=q min=1 pods=1 cpu=9\njob ns/b queue=p min=1 pods=1 cpu=9 class=high"
    high, low = order_of(text, ACROSS).place("ns/b"), order_of(text, ACROSS).place("ns/a")

    assert high is not None
    assert low is not None
    assert (high.overall, low.overall) == (1, 2)


job_lines = st.lists(
    st.tuples(st.sampled_from(["", "class=high", "class=low"]), st.integers(0, 3), st.sampled_from(["q", "p"])),
    min_size=1,
    max_size=6,
)


@settings(deadline=None, max_examples=examples(40))
@given(job_lines)
def test_with_room_for_one_the_first_of_its_queue_gets_it(lines: list[tuple[str, int, str]]) -> None:
    """Alike jobs, and one node that takes one: whoever is placed stood first, in its queue and in all."""
    policy, text = policy_of("priority gang", "predicates"), _text(lines)
    order = order_of(text, policy)
    (bind,) = run_cycle(mirror(manifests(text)).snapshot(NOW), policy, REGISTRY).binds
    place = order.place(bind.job)

    assert place is not None
    assert (place.position, place.overall) == (1, 1)


def _text(lines: list[tuple[str, int, str]]) -> str:
    jobs = (
        f"job ns/j{at} queue={queue} min=1 phase=Inqueue pods=1 cpu=1 age={age} {cls}"
        for at, (cls, age, queue) in enumerate(lines)
    )
    return "\n".join(["node n1 cpu=1", "class high 1000", "class low 1", "queue q", "queue p", *jobs])


@settings(deadline=None, max_examples=examples(30))
@given(job_lines)
def test_places_are_numbers_from_one_on_without_gaps(lines: list[tuple[str, int, str]]) -> None:
    order = order_of(_text(lines))
    places = [place for key in order.positions() if (place := order.place(key)) is not None]

    assert sorted(place.overall for place in places) == list(range(1, len(lines) + 1))
    for queue in ("q", "p"):
        own = [order.positions()[view.key] for view in order.lane(queue)]
        assert own == list(range(1, len(own) + 1))


@pytest.mark.parametrize(
    ("number", "told"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (21, "21st"), (113, "113th")],
)
def test_ordinals(number: int, told: str) -> None:
    assert ordinal(number) == told
