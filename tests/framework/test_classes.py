"""Long backlogs of a few kinds: their jobs are told what they would be told one by one, whatever cycles keep."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.backlogged import Backlogged, backlog, change, job
from tests.support.clusters import seeded
from tests.support.examples import examples
from tests.support.plans import policy_of
from tests.support.taking import taking

POLICIES = {
    "shares": policy_of("priority gang conformance", "overcommit drf predicates proportion nodeorder binpack"),
    "capacity": policy_of("priority gang", "predicates capacity resourcequota nodeorder"),
    "across queues": policy_of(
        "priority gang", "drf predicates nodeorder", actions="allocate", ordering={"JobOrderAcrossQueues": True}
    ),
    "users": policy_of("priority gang usage-history", "predicates proportion"),
    "taking": taking("enqueue, allocate, preempt, reclaim, backfill", "priority gang", "drf predicates proportion"),
    "twice": taking("allocate, reclaim, allocate", "priority gang", "predicates proportion"),
    "deadlines": policy_of("priority gang sla", "predicates proportion"),
}


def test_jobs_of_one_kind_are_kept_together_and_others_are_not() -> None:
    cluster = Backlogged()
    cluster.put("job x/odd queue=r min=2 pods=1 cpu=30 phase=Inqueue")
    cluster.put("pods x/odd 1 cpu=31")
    for number in range(4):
        cluster.put(job(number, "huge"))
    for number in range(3):
        cluster.put(job(number, "pending"))
    cluster.run(POLICIES["shares"], assume=False)
    waiting = [f"x/pending{number}" for number in range(3)]
    assert cluster.classes == [[f"x/huge{number}" for number in range(4)], waiting]
    cluster.drop("job x/huge1")
    cluster.put(job(7, "huge", age=9))
    cluster.run(POLICIES["shares"], assume=False)
    assert cluster.classes == [[f"x/huge{number}" for number in (0, 2, 3, 7)], waiting]


def test_jobs_are_in_one_class_once_they_differ_in_names_and_ages_alone() -> None:
    cluster = Backlogged()
    cluster.put(job(0, "huge"))
    cluster.run(POLICIES["shares"], assume=False)
    assert cluster.classes == []
    cluster.put(job(1, "huge", age=9))
    cluster.run(POLICIES["shares"], assume=False)
    assert cluster.classes == [["x/huge0", "x/huge1"]]
    cluster.drop("job x/huge0")
    cluster.drop("job x/huge1")
    cluster.run(POLICIES["shares"], assume=False)
    cluster.put(job(2, "huge"))
    cluster.run(POLICIES["shares"], assume=False)
    cluster.drop("job x/huge2")
    cluster.put(job(3, "huge"))
    cluster.run(POLICIES["shares"], assume=False)
    assert cluster.classes == []


def test_jobs_that_only_look_alike_are_in_classes_of_their_own() -> None:
    cluster = Backlogged()
    cluster.put(job(0, "huge"))
    words = "queue=s min=1 pods=1 cpu=64 phase=Inqueue"
    cluster.put(f"job x/hasty {words} class=high", f"job x/odd {words} gated")
    cluster.run(POLICIES["shares"], assume=False)
    assert cluster.classes == []
    cluster.put(f"job x/hastier {words} class=high")
    cluster.run(POLICIES["shares"], assume=False)
    assert cluster.classes == [["x/hastier", "x/hasty"]]
    cluster.put(job(1, "huge", age=9))
    cluster.run(POLICIES["shares"], assume=False)
    assert cluster.classes == [["x/hastier", "x/hasty"], ["x/huge0", "x/huge1"]]
    cluster.drop("job x/hastier")
    cluster.drop("job x/huge0")
    cluster.put(job(2, "huge", age=3))
    cluster.run(POLICIES["shares"], assume=False)
    assert cluster.classes == [["x/huge1", "x/huge2"]]


def test_no_jobs_share_a_class_where_a_plugin_may_distinguish_them() -> None:
    cluster = Backlogged()
    for number in range(4):
        cluster.put(job(number, "huge"))
    cluster.run(POLICIES["deadlines"], assume=False)
    assert cluster.classes == []


@settings(max_examples=examples(200), deadline=None)
@given(name=st.sampled_from([*POLICIES]), random=seeded, steps=st.integers(1, 8))
def test_jobs_get_the_reasons_that_they_would_get_alone(name: str, random: Random, steps: int) -> None:
    cluster = Backlogged(*backlog(random))
    assume = random.random() < 0.7
    for _ in range(steps):
        for _ in range(random.randint(0, 2)):
            change(random, cluster)
        cluster.run(POLICIES[name], assume=assume)


def test_a_job_that_joins_a_class_or_changes_in_it_is_reported_while_the_others_keep_their_records() -> None:
    policy = POLICIES["shares"]
    cluster = Backlogged(*(job(number, "huge") for number in range(10, 40, 2)))
    cluster.run(policy, assume=True)
    before = cluster.run(policy, assume=True)
    cluster.put(job(25, "huge"))
    cluster.put(job(30, "huge", age=5))
    cluster.advise("x/huge28")
    after = cluster.run(policy, assume=True)
    kept = {key for key, outcome in after.jobs.items() if before.jobs.get(key) is outcome}
    assert kept == before.jobs.keys() - {"x/huge28", "x/huge30"}


def test_a_job_that_comes_later_is_let_in_as_those_of_its_class_where_nobody_admits_jobs() -> None:
    cluster = Backlogged(*(job(number, "promised") for number in range(4)))
    cluster.run(POLICIES["across queues"], assume=False)
    cluster.put(job(9, "promised"))
    report = cluster.run(POLICIES["across queues"], assume=False)
    assert {outcome.phase for outcome in report.jobs.values()} == {"Inqueue"}
