"""The lines of the audit log: each decision once, with whose pods they are, for whom, why and by which policy."""

from __future__ import annotations

import msgspec

from tests.support.plans import NOW, manifests, mirror, policy_from
from vsched.framework.cycle import run_cycle
from vsched.model.plan import Bind
from vsched.record.audit import AuditLine, AuditTrail, moment
from vsched.settings.built_in import REGISTRY

POLICY = policy_from(
    '{"actions": "allocate, preempt", "tiers": [{"plugins": [{"name": "priority"}, {"name": "gang"}]},'
    ' {"plugins": [{"name": "predicates"}]}]}'
)
CLUSTER = """
node n1 cpu=2
class high 1000
queue q1
job ns/low min=1 phase=Running queue=q1 vsched.io/user=ann
pods ns/low 2 cpu=1 on=n1
job ns/high min=1 queue=q1 class=high vsched.io/user=bob phase=Inqueue
pods ns/high 1 cpu=1 priority=1000
"""


def test_who_leaves_for_whom_and_who_waits_for_what() -> None:
    cache, trail = mirror(manifests(CLUSTER)), AuditTrail("host")
    sessions: list[list[AuditLine]] = []
    for number in range(1, 4):
        snapshot = cache.snapshot(NOW)
        report = run_cycle(snapshot, POLICY, REGISTRY)
        sessions.append([*trail.decisions(snapshot, report, number, "abc")])
        if number > 1:  # the first one is decided again, to see what is said twice
            cache.settle(report)
    evict = next(line for line in sessions[0] if line.event == "evict")
    assert (evict.job, evict.queue, evict.user) == ("ns/low", "q1", "ann")
    assert (evict.action, evict.beneficiary, evict.beneficiary_queue, evict.beneficiary_user) == (
        "preempt",
        "ns/high",
        "q1",
        "bob",
    )
    assert (evict.at, evict.by, evict.session, evict.policy) == (moment(NOW), "host", 1, "abc")
    [wait] = [line for line in sessions[0] if line.event == "wait"]
    assert (wait.job, wait.user, bool(wait.code), bool(wait.why)) == ("ns/high", "bob", True, True)
    assert evict.why == wait.why
    assert [line.event for line in sessions[1] if line.event == "wait"] == []
    [bind] = [line for line in sessions[2] if line.event == "bind"]
    assert (bind.pod, bind.node, bind.job, bind.user) == ("ns/high.0", "n1", "ns/high", "bob")


def test_what_does_not_apply_is_left_out() -> None:
    line = AuditTrail("host").outcome(0.0, Bind("u", "ns", "p", "n1", "ns/j"), "bound", "")
    assert msgspec.json.encode(line) == (
        b'{"at":"1970-01-01T00:00:00.000Z","event":"bind-outcome","by":"host","pod":"ns/p","uid":"u","node":"n1",'
        b'"job":"ns/j","outcome":"bound"}'
    )
