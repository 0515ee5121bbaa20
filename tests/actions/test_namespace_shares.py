"""Queues and namespaces get their shares whether PodGroups state ``minResources`` or not: admission keeps the order."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, plan, policy_of
from vsched.framework.policy import Policy
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

NODES = "\n".join(f"node n{number} cpu=4 memory=64Gi" for number in range(4))
MORE = 40
"""More jobs than there is room for."""

Wanted = tuple[str, str, int]
"""A queue, a namespace, and how many jobs of one cpu it has there; the first line's jobs are the oldest."""


def jobs(wanted: list[Wanted], minimum: bool, created_late: bool = False) -> str:
    """Jobs of one pod, line by line of equal age, those of the first line the oldest."""
    lines = []
    for age, (queue, namespace, count) in zip(range(900, 0, -100), wanted, strict=False):
        stated = " minResources=cpu:1" if minimum else ""
        pods = "" if created_late else " pods=1 cpu=1"
        lines += [
            f"job {namespace}/{queue}x{namespace}x{at:03} queue={queue} age={age}{stated}{pods}" for at in range(count)
        ]
    return "\n".join(lines)


def held(text: str, policy: Policy = DEFAULT_POLICY, cycles: int = 3) -> dict[str, int]:
    """How many pods were bound, by ``queue namespace``; ``cycles`` sessions one after the other."""
    found: dict[str, int] = {}
    for name in plan(f"{NODES}\n{text}", policy, cycles=cycles).order:
        queue, namespace, _ = name.split("x")
        found[f"{queue} {namespace}"] = found.get(f"{queue} {namespace}", 0) + 1
    return found


TABLES = [
    pytest.param(
        "queue q1\nqueue q2",
        [("q1", "ns1", 5), ("q1", "ns2", 10), ("q2", "ns3", 10), ("q2", "ns4", 2)],
        {"q1 ns1": 4, "q1 ns2": 4, "q2 ns3": 6, "q2 ns4": 2},
        id="equal weights: what a namespace does not ask for goes to the others of its queue",
    ),
    pytest.param(
        "queue q1 weight=1\nqueue q2 weight=3\nweight ns1 3\nweight ns2 1\nweight ns3 2\nweight ns4 6",
        [("q1", "ns1", 5), ("q1", "ns2", 10), ("q2", "ns3", 10), ("q2", "ns4", 2)],
        {"q1 ns1": 3, "q1 ns2": 1, "q2 ns3": 10, "q2 ns4": 2},
        id="queues and namespaces by their weights",
    ),
    pytest.param(
        "queue q1 weight=1\nqueue q2 weight=3\nweight ns1 2\nweight ns2 6",
        [("q1", "ns1", MORE), ("q2", "ns1", 5), ("q2", "ns2", 20)],
        {"q1 ns1": 4, "q2 ns1": 3, "q2 ns2": 9},
        id="a namespace in two queues is weighed in each by what it holds there",
    ),
    pytest.param(
        "queue q\nweight a 1\nweight b 3\nweight c 2",
        [("q", "a", MORE), ("q", "b", MORE), ("q", "c", MORE)],
        {"q a": 3, "q b": 8, "q c": 5},
        id="three namespaces of one queue by their weights",
    ),
    pytest.param(
        "queue q",
        [("q", "b", MORE), ("q", "a", 10)],
        {"q a": 8, "q b": 8},
        id="the older jobs of a namespace do not take the room of another",
    ),
]


@pytest.mark.parametrize("minimum", [pytest.param(False, id="no minimum"), pytest.param(True, id="minResources")])
@pytest.mark.parametrize("turned", [pytest.param(False, id="in order"), pytest.param(True, id="oldest last")])
@pytest.mark.parametrize(("setting", "wanted", "expected"), TABLES)
def test_shares_are_the_same_with_and_without_minimum(
    setting: str, wanted: list[Wanted], expected: Mapping[str, int], minimum: bool, turned: bool
) -> None:
    asked = wanted[::-1] if turned else wanted
    assert held(f"{setting}\n{jobs(asked, minimum)}") == expected


TREE = "queue top deserved=cpu:8\nqueue side deserved=cpu:8\nqueue q1 parent=top\nqueue q2 parent=side"
PATHS = "queue q1 hierarchy=root/a/x weights=1/1/1\nqueue q2 hierarchy=root/b/y weights=1/3/1"


def tree(*, enabled: bool = True) -> Policy:
    """Capacity with queues in a tree."""
    capacity = {"name": "capacity", "enableHierarchy": enabled}
    plugins = [{"name": name} for name in ("priority", "gang", "overcommit", "drf", "predicates")]
    return load_text(
        yaml.safe_dump({"actions": "enqueue, allocate", "tiers": [{"plugins": [*plugins, capacity]}]}), "p", REGISTRY
    ).policy


def by_score(**weights: float) -> Policy:
    """Queues by the scores of plugins."""
    told = {"QueueScoreOrderEnable": True} | {
        f"QueueScoreOrder.{name}.weight": weight for name, weight in weights.items()
    }
    return policy_of("priority gang", "overcommit drf predicates", "proportion", ordering=told)


@pytest.mark.parametrize("minimum", [pytest.param(False, id="no minimum"), pytest.param(True, id="minResources")])
@pytest.mark.parametrize(
    ("setting", "policy", "expected"),
    [
        pytest.param(
            "queue q1\nqueue q2",
            policy_of("priority gang", "overcommit drf predicates"),
            {"q1 a": 8, "q1 b": 8},
            id="without a division the order of queues is that of age",
        ),
        pytest.param(
            "queue q1 deserved=cpu:12\nqueue q2 deserved=cpu:4",
            policy_of("priority gang", "overcommit drf predicates capacity"),
            {"q1 a": 6, "q1 b": 6, "q2 a": 2, "q2 b": 2},
            id="queues by what they deserve",
        ),
        pytest.param(TREE, tree(), {"q1 a": 4, "q1 b": 4, "q2 a": 4, "q2 b": 4}, id="queues in a tree"),
        pytest.param(
            PATHS,
            policy_of("priority gang", "overcommit drf predicates", enableHierarchy=True),
            {"q1 a": 2, "q1 b": 2, "q2 a": 6, "q2 b": 6},
            id="queues in a tree of annotations",
        ),
        pytest.param(
            "queue q1\nqueue q2 weight=3", by_score(drf=1), {"q1 a": 2, "q1 b": 2, "q2 a": 6, "q2 b": 6}, id="by score"
        ),
        pytest.param(
            "queue q1\nqueue q2 weight=3",
            by_score(proportion=1),
            {"q1 a": 2, "q1 b": 2, "q2 a": 6, "q2 b": 6},
            id="by the score of proportion",
        ),
    ],
)
def test_whatever_orders_queues_counts_what_was_admitted(
    setting: str, policy: Policy, expected: Mapping[str, int], minimum: bool
) -> None:
    wanted = [("q1", "a", MORE), ("q1", "b", MORE), ("q2", "a", MORE), ("q2", "b", MORE)]
    assert held(f"{setting}\n{jobs(wanted, minimum)}", policy) == expected


def admitted(text: str, policy: Policy = DEFAULT_POLICY, cycles: int = 1) -> dict[str, int]:
    """How many jobs of each namespace were admitted and wait for their pods."""
    found: dict[str, int] = {}
    for key, job in plan(f"{NODES}\n{text}", policy, cycles=cycles).jobs.items():
        if job.phase == "Inqueue":
            namespace = key.partition("/")[0]
            found[namespace] = found.get(namespace, 0) + 1
    return found


def test_namespaces_share_what_is_admitted_before_there_are_pods() -> None:
    wanted = [("q", "b", MORE), ("q", "a", MORE)]

    assert admitted(f"queue q\n{jobs(wanted, True, created_late=True)}", cycles=3) == {"a": 8, "b": 8}


def test_what_earlier_sessions_admitted_counts_for_its_namespace() -> None:
    before = "\n".join(f"job b/early{at} queue=q phase=Inqueue minResources=cpu:1" for at in range(6))
    wanted = [("q", "b", MORE), ("q", "a", MORE)]

    assert admitted(f"queue q\n{before}\n{jobs(wanted, True, created_late=True)}") == {"a": 8, "b": 8}


def test_what_a_namespace_holds_counts_as_well_as_what_it_was_admitted_for() -> None:
    running = "job b/old min=1 queue=q phase=Running minResources=cpu:1\npods b/old 4 cpu=1 on=n0"
    before = "\n".join(f"job b/early{at} queue=q phase=Inqueue minResources=cpu:1" for at in range(2))
    wanted = [("q", "b", MORE), ("q", "a", MORE)]

    found = admitted(f"queue q\n{running}\n{before}\n{jobs(wanted, True, created_late=True)}")

    assert found == {"a": 9, "b": 6}, "9 for a, and with the 4 that b holds 10 for b, whose jobs are older"


def test_a_gang_that_its_queue_cannot_place_leaves_the_room_to_others() -> None:
    text = """
        queue q1
        queue q2
        job a/q1xaxgang queue=q1 age=900 min=1 pods=1 cpu=14 minResources=cpu:14
    """
    wanted = [("q1", "b", MORE), ("q2", "c", MORE)]

    assert held(f"{text}\n{jobs(wanted, True)}") == {"q1 b": 8, "q2 c": 8}


@st.composite
def mixtures(draw: st.DrawFn) -> tuple[str, list[Wanted]]:
    """Queues and namespaces of any weights, and jobs in them."""
    queues, namespaces = ([f"{letter}{number}" for number in range(draw(st.integers(1, 3)))] for letter in ("q", "n"))
    lines = [f"queue {name} weight={draw(st.integers(1, 4))}" for name in queues]
    lines += [f"weight {name} {draw(st.integers(1, 5))}" for name in namespaces]
    pairs = draw(st.permutations([(queue, namespace) for queue in queues for namespace in namespaces]))
    return "\n".join(lines), [(*pair, draw(st.sampled_from([0, 3, 10, 25]))) for pair in pairs]


@settings(max_examples=examples(15), deadline=None)
@given(mixtures())
def test_a_stated_minimum_changes_nobodys_share(mixture: tuple[str, list[Wanted]]) -> None:
    setting, wanted = mixture
    assert held(f"{setting}\n{jobs(wanted, True)}") == held(f"{setting}\n{jobs(wanted, False)}")
