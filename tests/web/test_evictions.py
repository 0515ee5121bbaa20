"""Who was evicted, for whom and why, as the page is told."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from vsched.model.jobs.job import Job, Judgement
from vsched.model.jobs.spec import JobSpec
from vsched.model.plan import Evict
from vsched.web.evictions import MOST_CHARACTERS, MOST_EVICTIONS, Evictions, of_job, on_node, why
from vsched.web.words import evictions as words


def job(name: str, queue: str = "q", priority: int = 0) -> Job:
    return Job(f"ns/{name}", JobSpec("ns", name, queue=queue), Judgement(priority))


def evict(uid: str = "u1", action: str = "preempt", beneficiary: str = "ns/big") -> Evict:
    return Evict(uid, "ns", f"small-{uid}", "n1", "ns/small", action, beneficiary)


@pytest.mark.parametrize(
    ("eviction", "victim", "beneficiary", "said"),
    [
        pytest.param(
            evict(),
            job("small"),
            job("big", priority=9),
            words.by_priority("q", 9, 0),
            id="preemption names both priorities",
        ),
        pytest.param(
            evict(),
            job("small"),
            job("big"),
            words.by_order("q", 0),
            id="preemption at one priority goes by the rest of the order",
        ),
        pytest.param(
            evict(action="reclaim"),
            job("small", "lent"),
            job("big", "owns"),
            words.reclaims("owns", "lent"),
            id="reclaim names both queues",
        ),
        pytest.param(
            evict(beneficiary="ns/small"),
            job("small"),
            job("small"),
            words.OF_ITS_JOB,
            id="within one job",
        ),
        pytest.param(
            evict(action="arbitrate", beneficiary="other/pod-0"),
            None,
            None,
            words.by_arbitration("ns", "other"),
            id="arbitration names both namespaces",
        ),
        pytest.param(
            evict(action="shuffle", beneficiary=""),
            job("small"),
            None,
            words.moved_off("shuffle"),
            id="nobody takes its room",
        ),
        pytest.param(
            replace(evict(action="consolidate"), to="n2"),
            job("small"),
            job("big", priority=1),
            words.moved_to("n2"),
            id="it is moved",
        ),
        pytest.param(evict(), None, None, "preempt makes room", id="jobs that are not known any more"),
    ],
)
def test_why_somebody_is_evicted(eviction: Evict, victim: Job | None, beneficiary: Job | None, said: str) -> None:
    assert why(eviction, victim, beneficiary) == said


def test_what_came_of_one_is_told_with_it_and_a_new_attempt_begins_anew() -> None:
    found, eviction, jobs = Evictions(), evict(), {"ns/small": job("small"), "ns/big": job("big", priority=1)}
    found.decided(1.0, [eviction], jobs)
    found.decided(2.0, [evict("u2")], jobs)
    found.answered(3.0, eviction, "refused-now", "x" * 2 * MOST_CHARACTERS)
    latest, first = found.rows()
    assert (latest.uid, latest.result) == ("u2", "asked")
    assert (first.at, first.result, first.message) == (1.0, "refused-now", "x" * MOST_CHARACTERS)
    found.decided(4.0, [eviction], jobs)
    assert [(row.uid, row.result, row.message) for row in found.rows()] == [("u1", "asked", ""), ("u2", "asked", "")]


def test_what_no_session_decided_is_told_once_it_is_answered() -> None:
    found = Evictions()
    found.answered(5.0, evict(action="arbitrate", beneficiary="other/p"), "evicted", "")
    (row,) = found.rows()
    assert (row.at, row.result, row.beneficiary) == (5.0, "evicted", "other/p")


def test_the_oldest_are_forgotten() -> None:
    found = Evictions()
    found.decided(1.0, [evict(f"u{number}") for number in range(3 * MOST_EVICTIONS)], {})
    rows = found.rows()
    assert (len(rows), rows[0].uid) == (MOST_EVICTIONS, f"u{3 * MOST_EVICTIONS - 1}")


def test_a_job_has_those_of_its_pods_and_those_for_its_sake_and_a_node_those_from_it() -> None:
    found = Evictions()
    found.decided(1.0, [evict("u1"), replace(evict("u2"), node="n2")], {})
    found.answered(1.0, evict("u3", "arbitrate", "ns/other-0"), "evicted", "")
    rows = found.rows()
    assert [row.uid for row in of_job(rows, "ns/small")] == ["u3", "u2", "u1"]
    assert [row.uid for row in of_job(rows, "ns/big")] == ["u2", "u1"]
    assert [row.uid for row in of_job(rows, "ns/other", frozenset({"ns/other-0"}))] == ["u3"]
    assert [row.uid for row in on_node(rows, "n2")] == ["u2"]
