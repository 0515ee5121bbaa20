"""What kube-scheduler and the API server are told when they ask: by the mirror as it is now, and the last round."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.support.parties import amounts, party, world
from vsched import api
from vsched.arbitrator.effects import Promise, RoundResult
from vsched.arbitrator.extender import ExtenderAnswer, PlacementRequest
from vsched.clock import FakeClock
from vsched.daemon.arbitrate.admission import Admission, Review
from vsched.daemon.words import states as states_words
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model import words
from vsched.model.arbitration.records import Award, Bucket, Claim, Division, NamespaceAccount
from vsched.web.findings import Arbitrated, Findings

Obj = dict[str, Any]


def pod(name: str, node: str = "", cpu: str = "1", limit: str = "", **status: Any) -> Obj:
    resources = {"requests": {"cpu": cpu}} | ({"limits": {"cpu": limit}} if limit else {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "a", "uid": f"uid-{name}", "resourceVersion": "1"},
        "spec": {
            "schedulerName": "default-scheduler",
            "nodeName": node,
            "containers": [{"name": "c", "resources": resources}],
        },
        "status": {"phase": "Running" if node else "Pending", **status},
    }


def asking(name: str, said: str = "cpu=1") -> PlacementRequest:
    return PlacementRequest("a", name, f"uid-{name}", amounts(said) | {"pods": 1})


class Desk:
    """An ``Admission`` over a real mirror, after a round in which namespace ``a`` may hold two cpus."""

    def __init__(
        self,
        *parties: NamespaceAccount,
        ceiling: str = "cpu=2",
        deserved: str = "cpu=2",
        promised: bool = False,
    ) -> None:
        self.cache = Mirror(MirrorSettings(frozenset({"vsched"}), arbitrating=True))
        self.clock = FakeClock()
        self.findings = Findings()
        self.idle = ""
        self.admission = Admission(self.cache, self.findings, self.clock, lambda: self.idle)
        arbitration = world("cpu=4", parties or [party("a")]).arbitration
        assert arbitration is not None
        division = Division({"a": Award(amounts(deserved), amounts(ceiling))}, {}, amounts("cpu=4"))
        verdict = RoundResult(promised={"uid-of-b": Promise("b", "n1", 60.0)} if promised else {})
        self.findings.take_arbitrated(Arbitrated(0.0, arbitration, division, verdict))

    def see(self, *objects: Obj, type: str = "ADDED") -> None:
        for found in objects:
            self.cache.intake.apply("Pod", type, api.read("Pod", orjson.dumps(found)))

    def judge(self, name: str) -> str | None:
        """Of a pod that exists, whatever is said of it."""
        answer = self.admission.judge(asking(name, "cpu=9"))
        assert answer.seen
        return answer.refusal


def test_a_namespace_at_its_ceiling_gets_no_further_pod() -> None:
    at = Desk()
    at.see(pod("x", "n1"), pod("y"), pod("z"))
    assert at.judge("y") is None
    assert at.judge("z") == words.would_hold_too_much("namespace a", "2 cpu", "3")


def test_what_is_let_through_counts_until_the_mirror_shows_it() -> None:
    at = Desk()
    at.see(pod("x"), pod("y"), pod("z"))
    assert [at.judge(name) is None for name in "xyz"] == [True, True, False]
    at.see(pod("x", "n1"), pod("y", "n1"), type="MODIFIED")
    assert at.judge("z") == words.would_hold_too_much("namespace a", "2 cpu", "3")
    at.see(pod("x", "n1"), type="DELETED")
    assert at.judge("z") is None


def test_pods_that_nobody_has_seen_hold_nobodys_room() -> None:
    at = Desk()
    at.see(pod("x"), pod("y"))
    made_up = [
        at.admission.judge(PlacementRequest("a", f"ghost-{number}", f"ghost-{number}", {"cpu": 1}))
        for number in range(9)
    ]
    stolen = at.admission.judge(PlacementRequest("a", "other", "uid-x", {"cpu": 1}))
    assert not any(answer.seen for answer in (*made_up, stolen))
    assert at.admission.granted() == {}
    assert [at.judge(name) for name in "xy"] == [None, None]
    assert at.admission.granted() == {"a": amounts("cpu=2 pods=2")}


def test_nothing_is_lent_while_pods_are_waited_for_that_others_made_room_for() -> None:
    at = Desk(deserved="cpu=1", promised=True)
    at.see(pod("x", "n1"), pod("y"))
    assert at.judge("y") == words.would_hold_too_much("namespace a", "1 cpu", "2")


def test_a_pod_that_has_its_node_passes() -> None:
    at = Desk()
    at.see(pod("x", "n1", cpu="2"))
    assert at.judge("x") is None


def test_limits_count_like_requests() -> None:
    at = Desk(ceiling="limits.cpu=3")
    at.see(pod("old", "n1", limit="2"), pod("x", limit="1"), pod("y", limit="1"))
    assert at.judge("x") is None
    refusal = at.judge("y")
    assert refusal == words.would_hold_too_much("namespace a", "3 limits.cpu", "4")
    at.see(pod("x", "n1", limit="1"), type="MODIFIED")
    assert at.judge("y") == refusal, "the mirror shows it now"
    at.see(pod("old", "n1"), type="DELETED")
    assert at.judge("y") is None


def test_a_round_that_divides_anew_is_what_is_gone_by() -> None:
    at = Desk()
    at.see(pod("x"), pod("y"), pod("z"))
    assert [at.judge(name) is None for name in "xyz"] == [True, True, False]
    last = at.findings.arbitrated
    assert last is not None
    wider = Division({"a": Award(amounts("cpu=3"), amounts("cpu=3"))}, {}, amounts("cpu=4"))
    at.findings.take_arbitrated(last._replace(division=wider))
    assert at.judge("z") is None


def test_a_namespace_without_an_award_is_let_through() -> None:
    at = Desk()
    at.see({**pod("x", cpu="9"), "metadata": {"name": "x", "namespace": "new", "uid": "u", "resourceVersion": "1"}})
    assert at.admission.judge(PlacementRequest("new", "x", "u", {})) == ExtenderAnswer()


def test_nothing_is_ready_before_the_first_round_and_while_another_acts() -> None:
    at = Desk()
    assert at.admission.ready() == ""
    at.idle = "standby"
    assert at.admission.ready() == "standby"
    fresh = Admission(at.cache, Findings(), at.clock)
    assert states_words.NOTHING_DIVIDED in fresh.ready()


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        pytest.param(Claim("a", "defaults", reserved=amounts("cpu=3")), "", id="what the cluster can keep"),
        pytest.param(Claim("a", "defaults", reserved=amounts("cpu=5")), "cluster's 4", id="more than there is"),
        pytest.param(Claim("a", "defaults", hard=amounts("cpu=9")), "ResourceQuota", id="more than the quota"),
        pytest.param(Bucket("area", reserved=amounts("cpu=5")), "cluster's 4", id="a bucket with more than there is"),
    ],
)
def test_consumers_and_buckets_are_judged_beside_all_others(found: Claim | Bucket, problem: str) -> None:
    cache = Mirror(MirrorSettings(frozenset(), arbitrating=True))
    review = Review(cache, lambda: "")
    quota = {"metadata": {"name": "q", "namespace": "a"}, "spec": {"hard": {"requests.cpu": "8"}}}
    node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "110"}}}
    objects = {"ResourceQuota": quota, "Node": node, "Bucket": {"metadata": {"name": "area"}, "spec": {}}}
    for kind, obj in objects.items():
        cache.intake.apply(kind, "ADDED", api.read(kind, orjson.dumps(obj)))
    problems = review.review(found)
    assert bool(problems) == bool(problem)
    assert all(problem in line for line in problems)
