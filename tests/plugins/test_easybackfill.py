"""easy-backfill in virtual time: planned starts are kept, gangs do not starve, and little is left idle for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import NOW, manifests, mirror, policy_from
from vsched.explain.estimate.passing import Decided, Passing
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.plugins.easybackfill import later_end
from vsched.settings.built_in import REGISTRY

MINUTE, HOUR = 60.0, 3600.0
POLICY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}{easy}, {{name: predicates}}, {{name: nodeorder}}, {{name: {also}}}]
"""


def policy(*, easy: bool, also: str = "binpack") -> Policy:
    return policy_from(POLICY.format(easy=", {name: easy-backfill}" if easy else "", also=also))


class Work(NamedTuple):
    """A job: when it comes, how many pods of how many cpus it has, and how long they run, in minutes."""

    comes: float
    pods: int
    cpu: int
    runs: float


class Course:
    """What became of some work on some nodes."""

    def __init__(self, nodes: Sequence[int], work: Iterable[Work], found: Policy, until: float) -> None:
        self.started: dict[str, float] = {}
        """In minutes, by job."""
        self.plans: dict[str, list[tuple[float, float]]] = defaultdict(list)
        """By job: when a cycle planned its start, and for when, in minutes."""
        self.busy = 0.0
        """Cpu minutes that were used."""
        self.ahead: dict[str, str] = {}
        """By job: the job with a planned start that it went ahead of."""
        self._capacity = sum(nodes)
        self._until = until
        self._run(nodes, sorted(work), found)

    @property
    def utilisation(self) -> float:
        return self.busy / self._capacity / self._until

    def _run(self, nodes: Sequence[int], work: Sequence[Work], found: Policy) -> None:
        text = [f"node n{number} cpu={cpu}" for number, cpu in enumerate(nodes)]
        for number, one in enumerate(work):
            # Who comes first is the oldest: all are there from the beginning, and take part once they have come.
            text.append(
                f"job x/j{number} min={one.pods} pods={one.pods} cpu={one.cpu} age={100000 - number} "
                f"vsched.io/expected-duration={one.runs * MINUTE:g}s"
            )
        passing = Passing(mirror(manifests("\n".join(text))).snapshot(NOW))
        coming = [(one.comes, f"x/j{number}") for number, one in enumerate(work)]
        ends: list[tuple[float, str]] = []
        here: set[str] = set()
        now = 0.0
        while now < self._until:
            while coming and coming[0][0] <= now:
                here.add(coming.pop(0)[1])
            gone = []
            while ends and ends[0][0] <= now:
                gone.append(heappop(ends)[1])
            passing.end([task for uid in gone if (task := passing.task(uid)) is not None])
            report = run_cycle(passing.at(NOW + now * MINUTE, frozenset(here)), found, REGISTRY)
            for key, outcome in report.jobs.items():
                if outcome.planned is not None:
                    self.plans[key].append((now, (outcome.planned.at - NOW) / MINUTE))
                if outcome.ahead_of:
                    self.ahead[key] = outcome.ahead_of
            phases = {key: one.phase for key, one in report.jobs.items()}
            for task in passing.settle(Decided(report, phases), NOW + now * MINUTE).started:
                one = work[int(task.job.removeprefix("x/j"))]
                self.started.setdefault(task.job, now)
                self.busy += one.cpu * (min(self._until, now + one.runs) - now)
                heappush(ends, (now + one.runs, task.uid))
            now = min([ends[0][0] if ends else self._until, coming[0][0] if coming else self._until])


def stream(seed: int, minutes: float, slots: int) -> list[Work]:
    """Small jobs that come faster than the cluster can run them: of one cpu, and of 2 to 20 minutes."""
    random, now, found = Random(seed), 0.0, []
    while now < minutes:
        found.append(Work(now, 1, 1, float(random.randint(2, 20))))
        now += random.expovariate(1.15 * slots / 11.0)
    return found


@pytest.mark.parametrize(
    "also",
    [
        pytest.param("binpack", id="without limits of queues"),
        pytest.param("proportion", id="where the queue deserves all of the cluster"),
    ],
)
def test_a_gang_that_needs_all_nodes_starts_as_planned_where_it_would_starve_and_little_is_left_idle(also: str) -> None:
    gang, nodes, until = Work(30.0, 8, 1, 20.0), [1] * 8, 2.5 * 60.0
    work = sorted([gang, *stream(7, until, 8)])
    key = f"x/j{work.index(gang)}"

    without = Course(nodes, work, policy(easy=False, also=also), until)
    course = Course(nodes, work, policy(easy=True, also=also), until)

    assert key not in without.started, "it starves"
    planned, first = course.plans[key][0]
    assert course.started[key] <= first <= planned + 20.0, "the longest of the small jobs ends by then"
    assert course.utilisation >= without.utilisation - 0.02
    assert sum(ahead == key for ahead in course.ahead.values()) > 3


@settings(max_examples=examples(25))
@given(
    st.lists(st.sampled_from([2, 3, 4]), min_size=1, max_size=4),
    st.lists(
        st.builds(
            Work,
            comes=st.integers(0, 60).map(float),
            pods=st.integers(1, 4),
            cpu=st.integers(1, 3),
            runs=st.integers(1, 40).map(float),
        ),
        min_size=1,
        max_size=14,
    ),
    st.sampled_from(["binpack", "proportion", "capacity"]),
)
def test_with_true_ends_a_planned_start_never_moves_later_and_is_kept(
    nodes: list[int], work: list[Work], also: str
) -> None:
    course = Course(nodes, work, policy(easy=True, also=also), 2000.0)
    for key, planned in course.plans.items():
        starts = [start for _, start in planned]
        assert starts == sorted(starts, reverse=True)
        assert course.started[key] <= starts[-1]


@given(st.floats(0.0, 1e9), st.floats(0.0, 1e7))
def test_overdue_work_is_taken_to_end_later_than_now_and_not_much_later(started: float, elapsed: float) -> None:
    now = started + elapsed
    assert now < later_end(started, now) <= started + max(60.0, 1.26 * elapsed)
