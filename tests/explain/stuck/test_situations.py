"""A hundred stuck situations: what binds comes first, with its amounts, and each change that is told is enough."""

from __future__ import annotations

import pytest

from tests.explain.stuck import of_claims, of_gangs_and_nodes, of_others, of_queues
from tests.explain.stuck.case import Case, snapshot_of
from tests.support.explained import starts
from tests.support.lessening import a_notch_less
from vsched.explain.edits.others import CreatePodGroup, CreatePriorityClass, EndJobs
from vsched.explain.edits.queues import CreateQueue
from vsched.explain.explaining import explain
from vsched.explain.records import Whereabouts
from vsched.explain.situation import Situation, apply_all
from vsched.framework.cycle import run_cycle
from vsched.model.names import is_subdomain
from vsched.settings.built_in import REGISTRY

CREATING = (CreateQueue, CreatePriorityClass, CreatePodGroup)
CASES = {**of_queues.CASES, **of_gangs_and_nodes.CASES, **of_claims.CASES, **of_others.CASES}


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_what_binds_is_told_first_and_what_is_told_to_help_is_enough(case: Case) -> None:
    snapshot = snapshot_of(case)
    report = run_cycle(snapshot, case.policy, REGISTRY)
    found = explain(
        snapshot, case.policy, REGISTRY, report, "ns", case.pod or "b", kind="Pod" if case.pod else "PodGroup"
    )
    assert found is not None
    assert found.state is (Whereabouts.NEVER if case.never else Whereabouts.WAITS), found.message
    assert found.constraints[0].code == case.code, found.constraints
    assert all(part in found.message for part in case.says.split("|")), found.message
    besides = [one.message for one in found.constraints]
    assert all(any(part in one for one in besides) for part in case.also.split("|")), besides
    told = [set(map(repr, change.edits)) for change in found.changes]
    for wanted in case.helps:
        assert set(map(repr, wanted)) in told, found.changes

    created = [_name_of(edit) for change in found.changes for edit in change.edits if isinstance(edit, CREATING)]
    assert all(map(is_subdomain, created)), "no API server takes such a name"

    situation = Situation(snapshot, case.policy)
    others = tuple(key for key, job in snapshot.jobs.items() if job.tasks and key != "ns/b")
    assert not starts(situation)
    assert not (case.never and starts(apply_all(situation, [EndJobs(others)] if others else [])))
    for change in found.changes:
        assert starts(apply_all(situation, change.edits)), change
        for at, edit in enumerate(change.edits):
            less = a_notch_less(edit)
            fewer = [*change.edits[:at], *([] if less is None else [less]), *change.edits[at + 1 :]]
            assert not fewer or not starts(apply_all(situation, fewer)), (change, fewer)


def _name_of(edit: CreateQueue | CreatePriorityClass | CreatePodGroup) -> str:
    match edit:
        case CreateQueue():
            return edit.queue
        case CreatePriorityClass():
            return edit.name
    return edit.job.partition("/")[2]
