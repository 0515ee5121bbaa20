"""Whether another scheduler may place a pod, and what counts meanwhile."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.parties import amounts
from vsched.arbitrator.extender import GRANT_SECONDS, ExtenderAnswer, Gate, Grants, PlacementRequest, PodState, Seen
from vsched.model.amounts.counted import Counted
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, Award, Division
from vsched.model.words import would_hold_too_much

FOUR = Award(deserved=amounts("cpu=4"), ceiling=amounts("cpu=4 pods=3"))
PASSES, UNSEEN = ExtenderAnswer(), ExtenderAnswer(seen=False)


def asking(uid: str = "p", said: str = "cpu=1 pods=1", namespace: str = "team-a") -> PlacementRequest:
    return PlacementRequest(namespace, uid, uid, amounts(said))


class Mirror:
    """What is held, by namespace, and pods that wait or are placed, by uid; a gate that goes by it."""

    def __init__(self, held: str = "", *, ours: bool = False, most: int = 10_000, **awards: Award) -> None:
        self.held: dict[str, Counted] = {"team-a": amounts(held)}
        self.pods: dict[str, Seen] = {}
        self.ours = ours
        self.gate = Gate(lambda name: self.held.get(name, {}), self._look, Grants(most=most))
        self.divide(Division(awards or {"team-a": FOUR, "team-b": FOUR}, {}, {}))

    def divide(self, division: Division) -> None:
        self.gate.use(division, lends=True)

    def hold(self, said: str, namespace: str = "team-a") -> None:
        self.held[namespace] = amounts(said)
        self.gate.moved([namespace])

    def show(self, pod: PlacementRequest, sight: PodState = PodState.WAITING) -> None:
        self.pods[pod.uid] = Seen(sight, pod, self.ours)

    def judge(self, pod: PlacementRequest, now: float = 0.0) -> str | None:
        """Of a pod that exists."""
        if pod.uid not in self.pods:
            self.show(pod)
        answer = self.gate.judge(pod, now)
        assert answer.seen
        return answer.refusal

    def _look(self, uid: str) -> Seen:
        return self.pods.get(uid, Seen(PodState.UNKNOWN))


@pytest.mark.parametrize(
    ("held", "granted", "asked", "ceiling", "expected"),
    [
        pytest.param("cpu=3", "", "cpu=1", "cpu=4", None, id="up to the ceiling"),
        pytest.param("cpu=4", "", "cpu=1", "cpu=4", "4 cpu; this would make 5", id="over it"),
        pytest.param("cpu=3", "cpu=1", "cpu=500m", "cpu=4", "4 cpu; this would make 4500m", id="with what is granted"),
        pytest.param("cpu=9 memory=1Gi", "", "memory=1Gi", "cpu=4", None, id="what the pod does not ask for"),
        pytest.param("cpu=9", "", "cpu=1", "memory=1Gi", None, id="what has no ceiling"),
        pytest.param("cpu=9", "", "cpu=0", "cpu=4", None, id="asking for none of what is used up"),
        pytest.param(
            "cpu=4 memory=3Gi pods=9",
            "",
            "cpu=1 memory=2Gi pods=1",
            "cpu=4 memory=4Gi pods=10",
            "4 cpu and 4Gi memory; this would make 5 and 5Gi",
            id="several resources",
        ),
        pytest.param("", "", "limits.cpu=2", "limits.cpu=1", "1 limits.cpu; this would make 2", id="limits"),
    ],
)
def test_what_is_said(held: str, granted: str, asked: str, ceiling: str, expected: str | None) -> None:
    at = Mirror(held, **{"team-a": Award({}, amounts(ceiling))})
    if granted:
        assert at.judge(asking("before", granted)) is None
    assert at.judge(asking(said=asked)) == (expected and f"namespace team-a may hold {expected}")


def test_two_pods_do_not_both_get_the_last_of_it() -> None:
    at = Mirror("cpu=3")
    assert at.judge(asking("one")) is None
    assert at.judge(asking("two"), 0.1) == would_hold_too_much("namespace team-a", "4 cpu", "5")


def test_a_pod_that_is_asked_about_again_does_not_count_twice() -> None:
    at = Mirror("cpu=3")
    for now in range(5):
        assert at.judge(asking(), float(now)) is None
    assert len(at.gate.grants) == 1


def test_asking_again_renews_the_grant() -> None:
    at = Mirror("cpu=3")
    for now in (0.0, 0.9 * GRANT_SECONDS):
        assert at.judge(asking("one"), now) is None
    assert at.judge(asking("two"), 1.8 * GRANT_SECONDS) is not None


@pytest.mark.parametrize(
    ("later", "seconds", "held", "passes"),
    [
        pytest.param(PodState.WAITING, 1.0, "cpu=3", False, id="still without a node"),
        pytest.param(PodState.WAITING, GRANT_SECONDS, "cpu=3", True, id="too long without a node"),
        pytest.param(PodState.PLACED, 1.0, "cpu=4", False, id="on its node, and counted there"),
        pytest.param(PodState.PLACED, 1.0, "cpu=3", True, id="on its node, and another one has gone"),
        pytest.param(PodState.UNKNOWN, 1.0, "cpu=3", True, id="gone"),
    ],
)
def test_how_long_a_grant_counts(later: PodState, seconds: float, held: str, passes: bool) -> None:
    at = Mirror("cpu=3")
    assert at.judge(asking("one")) is None
    at.show(asking("one"), later)
    at.hold(held)
    assert (at.judge(asking("two"), seconds) is None) is passes
    assert len(at.gate.grants) == passes + (later is not PodState.PLACED and not passes)


def test_a_pod_that_is_refused_is_granted_nothing_any_more() -> None:
    at = Mirror("cpu=3")
    assert at.judge(asking("one")) is None
    at.hold("cpu=4")
    assert at.judge(asking("one"), 0.1) is not None
    at.hold("cpu=3")
    assert at.judge(asking("two"), 0.2) is None


# -- only pods that exist count


def test_a_pod_that_is_not_known_is_let_through_by_nobody_and_holds_nothing() -> None:
    at = Mirror("cpu=3")
    for number in range(9):
        assert at.gate.judge(asking(f"made-up-{number}"), 0.0) == UNSEEN
    assert len(at.gate.grants) == 0
    assert at.judge(asking("real")) is None


def test_a_pod_that_is_not_known_is_refused_where_it_could_not_pass_anyhow() -> None:
    assert Mirror("cpu=4").gate.judge(asking(), 0.0).refusal == would_hold_too_much("namespace team-a", "4 cpu", "5")


def test_a_pod_counts_as_it_is_whatever_is_said_of_it() -> None:
    at = Mirror("cpu=2")
    at.show(asking("one"))
    assert at.gate.judge(asking("one", "cpu=2 memory=9Gi"), 0.0) == PASSES
    assert dict(at.gate.granted(0.0)["team-a"]) == amounts("cpu=1 pods=1")


@pytest.mark.parametrize(
    "said", [asking("one", namespace="team-b"), PlacementRequest("team-a", "two", "one", {"cpu": 1})]
)
def test_nobody_holds_room_with_the_uid_of_another_pod(said: PlacementRequest) -> None:
    at = Mirror("cpu=2")
    at.show(asking("one"))
    assert at.gate.judge(said, 0.0) == UNSEEN
    assert len(at.gate.grants) == 0


def test_nothing_is_granted_to_pods_that_we_place_ourselves() -> None:
    at = Mirror("cpu=3", ours=True)
    assert at.judge(asking("one")) is None
    assert at.judge(asking("two")) is None
    assert len(at.gate.grants) == 0


def test_who_passes_whatever_is_held() -> None:
    at = Mirror("cpu=99 pods=99", **{"team-a": FOUR, "free": Award({}, {}), SYSTEM_NAMESPACE: FOUR})
    at.show(asking("there"), PodState.PLACED)
    assert at.judge(asking("there")) is None, "a pod that is counted already"
    assert at.judge(asking("one", namespace="free")) is None, "a namespace without a ceiling"
    assert at.judge(asking("two", namespace="new")) is None, "a namespace that is newer than the last division"
    assert at.gate.judge(asking("three", namespace=SYSTEM_NAMESPACE), 0.0) == PASSES, "the system, known or not"


# -- what is shared


def test_namespaces_do_not_count_for_each_other() -> None:
    at = Mirror("cpu=3")
    assert at.judge(asking("one")) is None
    assert at.judge(asking("two", namespace="team-b")) is None


def test_the_last_of_a_bucket_is_given_away_once() -> None:
    wide = Award(amounts("cpu=4"), amounts("cpu=4"), parent="inner")
    at = Mirror()
    bucket = Award({}, {}, amounts("cpu=4"))
    at.divide(
        Division(
            {"team-a": wide, "team-b": wide}, {"inner": Award({}, {}), "top": bucket}, {}, parents={"inner": "top"}
        )
    )
    at.hold("cpu=3")
    assert at.judge(asking("one", namespace="team-b")) is None
    assert at.judge(asking("two")) == would_hold_too_much("bucket top", "4 cpu", "5")
    at.hold("cpu=2")
    assert at.judge(asking("two")) is None


def test_what_is_idle_is_lent_once() -> None:
    award = Award(amounts("cpu=2500m"), amounts("cpu=3500m"), own=amounts("cpu=2"))
    at = Mirror()
    at.divide(Division({"team-a": award, "team-b": award}, {}, amounts("cpu=5"), spare=amounts("cpu=1")))
    at.hold("cpu=2")
    at.hold("cpu=2", "team-b")
    assert at.judge(asking("one", namespace="team-b")) is None
    assert at.judge(asking("two")) == would_hold_too_much("namespace team-a", "2500m cpu", "3")


def test_grants_are_bounded_and_the_oldest_go_first() -> None:
    at = Mirror(most=3, **{"team-a": Award({}, {})})
    for number in range(5):
        assert at.judge(asking(str(number)), float(number)) is None
    assert len(at.gate.grants) == 3
    assert at.gate.granted(4.0) == {"team-a": amounts("cpu=3 pods=3")}
    assert at.gate.granted(12.5) == {"team-a": amounts("cpu=2 pods=2")}


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3), st.integers(0, 6), st.booleans()), max_size=40))
@settings(max_examples=examples(60))
def test_never_over_a_limit_while_bindings_are_quicker_than_grants_expire(
    steps: list[tuple[int, int, int, bool]],
) -> None:
    """Pods are asked about, bound after a while if they may be, and the mirror tells of it later still."""
    at, now = Mirror(), 0.0
    award = Award({}, amounts("cpu=6"), parent="area")
    at.divide(Division({"team-a": award, "team-b": award}, {"area": Award({}, {}, amounts("cpu=8"))}, {}))
    placed: dict[str, PlacementRequest] = {}
    shown: set[str] = set()
    for number, (late, cpus, wait, other) in enumerate(steps):
        now += wait / 10
        pod = asking(str(number), f"cpu={cpus} pods=1", "team-b" if other else "team-a")
        if at.judge(pod, now) is None:
            placed[pod.uid] = pod
        for uid in list(placed)[: max(0, len(placed) - late)]:
            if uid not in shown:
                shown.add(uid)
                at.show(placed[uid], PodState.PLACED)
                namespace = placed[uid].namespace
                held = Counter(dict(at.held.get(namespace, {})))
                held.update(placed[uid].amounts)
                at.held[namespace] = held
                at.gate.moved([namespace])
        cpu = Counter[str]()
        for one in placed.values():
            cpu[one.namespace] += one.amounts["cpu"]
        assert max(cpu.values(), default=0) <= 6000
        assert sum(cpu.values()) <= 8000
