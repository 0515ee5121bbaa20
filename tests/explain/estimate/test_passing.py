"""A snapshot that goes on is the one that the mirror makes of objects that went on so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import clusters, contended
from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, NOW, Manifest, manifests, mirror, policy_of
from tests.support.seen import placed, seen
from vsched.explain.estimate.passing import Decided, Passing
from vsched.explain.estimate.runs import holding
from vsched.framework.cycle import run_cycle
from vsched.model.frozen import freeze
from vsched.model.pods.status import Phase
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

TAKING = policy_of(
    "priority gang pdb", "predicates proportion", actions="enqueue, allocate, preempt, reclaim, backfill"
)


def everything(passing: Passing) -> Snapshot:
    return passing.at(NOW, frozenset(passing.jobs))


def with_phases(objects: list[Manifest], passing: Passing) -> list[Manifest]:
    """The objects with the phases that PodGroups have come to."""
    for found in objects:
        if found["kind"] == "PodGroup":
            key = f"{found['metadata']['namespace']}/{found['metadata']['name']}"
            found["status"] = {"phase": passing.jobs[key].spec.phase}
    return objects


@settings(max_examples=examples(25), deadline=None)
@given(text=st.one_of(clusters(), contended()), every=st.integers(1, 3))
def test_pods_that_end_leave_what_the_mirror_would_see(text: str, every: int) -> None:
    snapshot = freeze(mirror(manifests(text)).snapshot(NOW))
    ending = [task for at, task in enumerate(holding(snapshot)) if at % every == 0]
    before = seen(snapshot)
    passing = Passing(snapshot)
    passing.end(ending)
    over = {task.uid: task for task in ending}
    objects = with_phases(manifests(text), passing)
    kept = [found for found in objects if not _gone(found, over)]
    for found in kept:
        if found["kind"] == "Pod" and found["metadata"]["uid"] in over:
            found["status"]["phase"] = "Succeeded"
    there = freeze(mirror(kept).snapshot(NOW))
    after = everything(passing)
    assert seen(after) == seen(there)
    assert placed(after) == placed(there)
    assert seen(snapshot) == before, "what it began as stays"


@settings(max_examples=examples(25), deadline=None)
@given(text=st.one_of(clusters(), contended()), taking=st.booleans())
def test_what_is_decided_comes_true_as_in_the_mirror(text: str, taking: bool) -> None:
    cache = mirror(manifests(text))
    snapshot = freeze(cache.snapshot(NOW))
    report = run_cycle(snapshot, TAKING if taking else DEFAULT_POLICY, REGISTRY)
    passing = Passing(snapshot)
    started = passing.settle(Decided(report, {key: one.phase for key, one in report.jobs.items()}), NOW).started
    assert sorted(task.uid for task in started) == sorted(bind.uid for bind in report.binds)
    cache.settle(report)
    there, after = seen(cache.snapshot(NOW)), seen(everything(passing))
    # The mirror learns from the next cycle that jobs run; what goes by their phases differs till then.
    assert set(after.pop("active")) <= set(there.pop("active"))
    del after["admitted"], there["admitted"]
    books = {name: sums[:4] for name, sums in after.pop("books").items()}
    assert books == {name: sums[:4] for name, sums in there.pop("books").items()}
    assert after == there


@pytest.mark.parametrize(("ended", "phase"), [(3, Phase.COMPLETED), (2, Phase.RUNNING)])
def test_a_job_is_over_once_its_pods_are(ended: int, phase: str) -> None:
    text = "node n1 cpu=4\njob x/a min=2 phase=Running\npods x/a 3 cpu=1 on=n1"
    passing = Passing(freeze(mirror(manifests(text)).snapshot(NOW)))
    passing.end(list(holding(everything(passing)))[:ended])
    assert passing.jobs["x/a"].spec.phase == phase


def test_quotas_count_what_ended_no_longer() -> None:
    text = "node n1 cpu=4\nquota x/q requests.cpu=4 used=requests.cpu:3\njob x/a min=2\npods x/a 2 cpu=1 on=n1"
    passing = Passing(freeze(mirror(manifests(text)).snapshot(NOW)))
    passing.end(list(holding(everything(passing))))
    assert [line.used for line in everything(passing).quotas["x"][0].lines] == [1000]


def _gone(found: Manifest, over: dict[str, object]) -> bool:
    """Whether a pod has ended that had been told to: nothing stays of it."""
    metadata = found["metadata"]
    return found["kind"] == "Pod" and metadata.get("uid") in over and "deletionTimestamp" in metadata
