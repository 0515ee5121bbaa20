"""The session: what it shows of jobs, their tasks, arguments of actions, and what it carries out."""

from __future__ import annotations

from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from vsched.actions.placing import PlacingArgs
from vsched.framework.obstacles import no_such_queue
from vsched.framework.points.extension import NoArgs
from vsched.framework.policy import Policy
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.settings.built_in import REGISTRY


def opened(text: str, policy: Policy = DEFAULT_POLICY) -> Session:
    return Session(mirror(manifests(text)).snapshot(NOW), policy, REGISTRY, Trace())


def names(session: Session, *, best_effort: bool) -> list[str]:
    return [task.name for task in session.pending_tasks(session.jobs["ns/a"], best_effort=best_effort)]


def test_jobs_that_could_get_something_are_shown() -> None:
    session = opened("""
        node n1
        job ns/pending pods=1 cpu=1
        job ns/empty
        job ns/done phase=Running
        pods ns/done 1 cpu=1 on=n1
        job ns/gated phase=Inqueue
        pods ns/gated 1 cpu=1 gated
        job ns/lost queue=nowhere pods=1 cpu=1
    """)

    assert sorted(session.jobs) == ["ns/empty", "ns/pending"]
    assert session.refused.jobs == {"ns/lost": no_such_queue("nowhere")}
    assert session.queue(session.jobs["ns/pending"]).name == "default"


def test_tasks_that_are_placed_or_gated_are_not_pending() -> None:
    session = opened("node n1\njob ns/a pods=2 cpu=1\npods ns/a 1\npods ns/a 1 cpu=1 gated")
    assert names(session, best_effort=False) == ["a.0", "a.1"]
    assert names(session, best_effort=True) == ["a.2"]

    job = session.jobs["ns/a"]
    with session.statement() as statement:
        statement.allocate(job, session.pending_tasks(job, best_effort=False)[0], 0)
        assert names(session, best_effort=False) == ["a.1"]
    assert names(session, best_effort=False) == ["a.0", "a.1"]


def test_arguments_of_an_action_are_those_of_the_policy_else_its_defaults() -> None:
    told = Policy((), (), {"backfill": PlacingArgs(error_cache=False)})

    assert opened("node n1", told).args("backfill", PlacingArgs).error_cache is False
    assert opened("node n1", told).args("preempt", PlacingArgs).error_cache is True
    assert opened("node n1", told).args("allocate", NoArgs) == NoArgs()
