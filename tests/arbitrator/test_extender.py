"""Whether another scheduler may place a pod, and what counts meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.parties import amounts
from vsched.arbitrator.extender import GRANT_SECONDS, Asking, Gate, Grants, Look, Sight, refusal
from vsched.model.arbitration import SYSTEM_NAMESPACE, Award

FOUR = Award(deserved=amounts("cpu=4"), ceiling=amounts("cpu=4 pods=3"))


def asking(uid: str = "p", said: str = "cpu=1 pods=1", namespace: str = "team-a") -> Asking:
    return Asking(namespace, uid, uid, amounts(said))


def seeing(**sights: Sight) -> Look:
    """A mirror that shows these pods, by uid."""
    return lambda uid: sights.get(uid, Sight.UNKNOWN)


NOBODY = seeing()


@pytest.mark.parametrize(
    ("held", "granted", "asked", "ceiling", "expected"),
    [
        pytest.param("cpu=3", "", "cpu=1", "cpu=4", None, id="up to the ceiling"),
        pytest.param("cpu=4", "", "cpu=1", "cpu=4", "5 cpu of the 4 it may", id="over it"),
        pytest.param("cpu=3", "cpu=1", "cpu=500m", "cpu=4", "4500m cpu of the 4 it may", id="with what is granted"),
        pytest.param("cpu=9 memory=1Gi", "", "memory=1Gi", "cpu=4", None, id="what the pod does not ask for"),
        pytest.param("cpu=9", "", "cpu=1", "memory=1Gi", None, id="what has no ceiling"),
        pytest.param("cpu=9", "", "cpu=0", "cpu=4", None, id="asking for none of what is used up"),
        pytest.param(
            "cpu=4 memory=3Gi pods=9",
            "",
            "cpu=1 memory=2Gi pods=1",
            "cpu=4 memory=4Gi pods=10",
            "5 cpu of the 4 it may, 5Gi memory of the 4Gi it may",
            id="several resources",
        ),
        pytest.param("", "", "limits.cpu=2", "limits.cpu=1", "2 limits.cpu of the 1 it may", id="limits"),
    ],
)
def test_what_is_said(held: str, granted: str, asked: str, ceiling: str, expected: str | None) -> None:
    found = refusal(asking(said=asked), amounts(held), amounts(granted), amounts(ceiling))
    assert found == (expected and f"namespace team-a would hold {expected}")


def test_two_pods_do_not_both_get_the_last_of_it() -> None:
    gate = Gate()
    assert gate.judge(asking("one"), amounts("cpu=3"), FOUR, NOBODY, 0.0) is None
    found = gate.judge(asking("two"), amounts("cpu=3"), FOUR, NOBODY, 0.1)
    assert found == "namespace team-a would hold 5 cpu of the 4 it may"


def test_a_pod_that_is_asked_about_again_does_not_count_twice() -> None:
    gate = Gate()
    for now in range(5):
        assert gate.judge(asking(), amounts("cpu=3"), FOUR, NOBODY, float(now)) is None
    assert len(gate.grants) == 1


def test_asking_again_renews_the_grant() -> None:
    gate = Gate()
    for now in (0.0, 0.9 * GRANT_SECONDS):
        assert gate.judge(asking("one"), amounts("cpu=3"), FOUR, NOBODY, now) is None
    assert gate.judge(asking("two"), amounts("cpu=3"), FOUR, NOBODY, 1.8 * GRANT_SECONDS) is not None


@pytest.mark.parametrize(
    ("before", "later", "seconds", "held", "passes"),
    [
        pytest.param(Sight.UNKNOWN, Sight.UNKNOWN, 1.0, "cpu=3", False, id="not seen yet"),
        pytest.param(Sight.WAITING, Sight.WAITING, 1.0, "cpu=3", False, id="still without a node"),
        pytest.param(Sight.WAITING, Sight.WAITING, GRANT_SECONDS, "cpu=3", True, id="too long without a node"),
        pytest.param(Sight.WAITING, Sight.PLACED, 1.0, "cpu=4", False, id="on its node, and counted there"),
        pytest.param(Sight.WAITING, Sight.PLACED, 1.0, "cpu=3", True, id="on its node, and another one has gone"),
        pytest.param(Sight.WAITING, Sight.UNKNOWN, 1.0, "cpu=3", True, id="seen, and gone"),
        pytest.param(Sight.UNKNOWN, Sight.WAITING, 1.0, "cpu=3", False, id="seen only after it was granted"),
    ],
)
def test_how_long_a_grant_counts(before: Sight, later: Sight, seconds: float, held: str, passes: bool) -> None:
    gate = Gate()
    assert gate.judge(asking("one"), amounts("cpu=3"), FOUR, seeing(one=before), 0.0) is None
    found = gate.judge(asking("two"), amounts(held), FOUR, seeing(one=later), seconds)
    assert (found is None) is passes
    assert len(gate.grants) == passes + (later is not Sight.PLACED and not passes)


def test_a_pod_seen_after_it_was_granted_and_then_gone_counts_no_more() -> None:
    gate, held = Gate(), amounts("cpu=3")
    assert gate.judge(asking("one"), held, FOUR, NOBODY, 0.0) is None
    assert gate.judge(asking("two"), held, FOUR, seeing(one=Sight.WAITING), 0.1) is not None
    assert gate.judge(asking("two"), held, FOUR, NOBODY, 0.2) is None


def test_a_pod_that_is_refused_is_granted_nothing_any_more() -> None:
    gate = Gate()
    assert gate.judge(asking("one"), amounts("cpu=3"), FOUR, NOBODY, 0.0) is None
    assert gate.judge(asking("one"), amounts("cpu=4"), FOUR, NOBODY, 0.1) is not None
    assert gate.judge(asking("two"), amounts("cpu=3"), FOUR, NOBODY, 0.2) is None


@pytest.mark.parametrize(
    ("pod", "award", "look"),
    [
        pytest.param(asking(namespace=SYSTEM_NAMESPACE), FOUR, NOBODY, id="kube-system"),
        pytest.param(asking(), None, NOBODY, id="a namespace that is newer than the last division"),
        pytest.param(asking(), Award({}, {}), NOBODY, id="a namespace without a ceiling"),
        pytest.param(asking(), FOUR, seeing(p=Sight.PLACED), id="a pod that is counted already"),
    ],
)
def test_who_passes_whatever_is_held(pod: Asking, award: Award | None, look: Look) -> None:
    assert Gate().judge(pod, amounts("cpu=99 pods=99"), award, look, 0.0) is None


def test_namespaces_do_not_count_for_each_other() -> None:
    gate = Gate()
    assert gate.judge(asking("one"), amounts("cpu=3"), FOUR, NOBODY, 0.0) is None
    assert gate.judge(asking("two", namespace="team-b"), amounts("cpu=3"), FOUR, NOBODY, 0.0) is None


def test_grants_are_bounded_and_the_oldest_go_first() -> None:
    grants = Grants(most=3)
    for number in range(5):
        grants.put(asking(str(number)), float(number))
    assert len(grants) == 3
    assert grants.held(asking("new"), 4.0) == amounts("cpu=3 pods=3")
    assert grants.held(asking("4"), 4.0) == amounts("cpu=2 pods=2")


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3), st.integers(0, 6)), max_size=40))
@settings(max_examples=100)
def test_never_over_the_ceiling_while_bindings_are_quicker_than_grants_expire(
    steps: list[tuple[int, int, int]],
) -> None:
    """Pods are asked about, bound after a while if they may be, and the mirror tells of it later still."""
    gate, now = Gate(), 0.0
    placed: dict[str, int] = {}
    shown: dict[str, int] = {}
    for number, (late, cpus, wait) in enumerate(steps):
        now += wait / 10
        uid = str(number)
        sights = dict.fromkeys(shown, Sight.PLACED)
        held = {"cpu": 1000 * sum(shown.values()), "pods": len(shown)}
        award = Award({}, amounts("cpu=6"))
        if gate.judge(asking(uid, f"cpu={cpus} pods=1"), held, award, seeing(**sights), now) is None:
            placed[uid] = cpus
        for one in list(placed)[: max(0, len(placed) - late)]:
            shown.setdefault(one, placed[one])
        assert sum(placed.values()) <= 6
