"""enqueue: who is admitted, in which order, and what is said of those who are not."""

from __future__ import annotations

from typing import ClassVar

import pytest

from tests.support.plans import NOW, manifests, mirror, plan, policy_of
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobEnqueueable, NoArgs, Plugin
from vsched.framework.policy import PluginConf, PluginTier, Policy
from vsched.framework.refusal import Refusal, Shortage
from vsched.framework.registry import Registry
from vsched.framework.words.jobs import no_queue
from vsched.plugins import PLUGINS
from vsched.plugins.words.queues import beyond_cluster, not_open
from vsched.settings.built_in import REGISTRY

ADMITTED, REFUSED = "Inqueue", "Pending"
CLUSTER = "node n1 cpu=10 memory=10Gi"


@pytest.mark.parametrize(
    ("text", "phases"),
    [
        pytest.param("job ns/a", {"a": ADMITTED}, id="a job that states no minimum is admitted unasked"),
        pytest.param(
            "queue q state=Closed\njob ns/a queue=q", {"a": ADMITTED}, id="even to a closed queue, where it waits on"
        ),
        pytest.param("job ns/a minResources=cpu:10", {"a": ADMITTED}, id="a minimum that the cluster holds"),
        pytest.param("job ns/a minResources=cpu:11", {"a": REFUSED}, id="a minimum that the queue can never hold"),
        pytest.param(
            "job ns/a minResources=gpu:1", {"a": REFUSED}, id="a minimum of a resource that the cluster does not have"
        ),
        pytest.param(
            "job ns/a minResources=cpu:11 age=9\njob ns/b minResources=cpu:1",
            {"a": REFUSED, "b": ADMITTED},
            id="a job that is refused blocks nobody behind it",
        ),
        pytest.param(
            "job ns/a minResources=cpu:6 age=9\njob ns/b minResources=cpu:6\njob ns/c minResources=cpu:4",
            {"a": ADMITTED, "b": REFUSED, "c": ADMITTED},
            id="what was admitted counts for those behind it",
        ),
        pytest.param(
            "job ns/a minResources=cpu:6 phase=Inqueue\njob ns/b minResources=cpu:6",
            {"a": ADMITTED, "b": REFUSED},
            id="what was admitted in an earlier cycle counts",
        ),
        pytest.param(
            "class high 5\njob ns/a minResources=cpu:6 age=9\njob ns/b minResources=cpu:6 class=high",
            {"a": REFUSED, "b": ADMITTED},
            id="higher priority is asked first",
        ),
        pytest.param(
            "job ns/b minResources=cpu:6\njob ns/a minResources=cpu:6",
            {"a": ADMITTED, "b": REFUSED},
            id="of equal age, the first by name is asked first",
        ),
        pytest.param(
            "queue q capability=cpu:2\njob ns/a minResources=cpu:3 queue=q\njob ns/b minResources=cpu:3",
            {"a": REFUSED, "b": ADMITTED},
            id="a queue's capability bounds what it admits",
        ),
        pytest.param(
            "queue q guarantee=cpu:6\njob ns/a minResources=cpu:5",
            {"a": REFUSED},
            id="what other queues are guaranteed is not there",
        ),
        pytest.param(
            "queue q state=Closed\njob ns/a minResources=cpu:1 queue=q",
            {"a": REFUSED},
            id="a closed queue admits none",
        ),
        pytest.param(
            "job ns/a minResources=cpu:6 phase=Inqueue\npods ns/a 1 cpu=6 gated\njob ns/b minResources=cpu:6",
            {"a": ADMITTED, "b": ADMITTED},
            id="what gated pods will ask for is not counted",
        ),
        pytest.param(
            "job ns/a min=1 minResources=cpu:2 phase=Running\npods ns/a 3 cpu=2 on=n1\njob ns/b minResources=cpu:8",
            {"a": "Running", "b": REFUSED},
            id="the cluster's use counts whole where nothing can be overcommitted",
        ),
        pytest.param("job ns/a queue=nowhere", {"a": REFUSED}, id="a job of an unknown queue is not admitted"),
    ],
)
def test_who_is_admitted(text: str, phases: dict[str, str]) -> None:
    assert plan(f"{CLUSTER}\n{text}").phases() == phases


OVERCOMMIT = policy_of("overcommit gang", "predicates")


@pytest.mark.parametrize(
    ("text", "phases"),
    [
        pytest.param("job ns/a minResources=cpu:12", {"a": ADMITTED}, id="a fifth more than there is may be promised"),
        pytest.param("job ns/a minResources=cpu:13", {"a": REFUSED}, id="but not more"),
        pytest.param(
            "job ns/a minResources=cpu:3 age=9\npods ns/old 9 cpu=1 on=n1\njob ns/b minResources=cpu:1",
            {"a": ADMITTED, "b": REFUSED},
            id="what is used is taken off, whoever uses it",
        ),
        pytest.param(
            "job ns/a minResources=cpu:8 phase=Inqueue queue=nowhere\npods ns/a 1 gated\njob ns/b minResources=cpu:8",
            {"b": ADMITTED},
            id="jobs of unknown queues are promised nothing",
        ),
    ],
)
def test_overcommit_alone(text: str, phases: dict[str, str]) -> None:
    found = plan(f"queue default\n{CLUSTER}\n{text}", OVERCOMMIT).phases()

    assert {name: found[name] for name in phases} == phases


GIB = 1 << 30
TOO_MUCH = beyond_cluster([Shortage("cpu", 0, 13_000, 10_000), Shortage("memory", 0, 13 * GIB, 10 * GIB)])


@pytest.mark.parametrize(
    ("text", "message", "headline"),
    [
        pytest.param(
            "job ns/a minResources=cpu:11 pods=1 cpu=1",
            beyond_cluster([Shortage("cpu", 0, 11_000, 10_000)]),
            beyond_cluster([Shortage("cpu", 0, 11_000, 10_000)]),
            id="no queue is full: the cluster is too small",
        ),
        pytest.param(
            "job ns/a minResources=cpu:13,memory:13Gi pods=1 cpu=1",
            TOO_MUCH,
            TOO_MUCH,
            id="nor is it overused where nobody uses anything",
        ),
        pytest.param(
            "queue q state=Closing\njob ns/a minResources=cpu:1 queue=q pods=1 cpu=1",
            not_open("q", "Closing"),
            not_open("q", "Closing"),
            id="the queue is closing",
        ),
        pytest.param(
            "job ns/a queue=nowhere pods=1 cpu=1",
            no_queue("nowhere"),
            no_queue("nowhere"),
            id="there is no queue",
        ),
    ],
)
def test_what_is_said_of_those_who_are_refused(text: str, message: str, headline: str) -> None:
    found = plan(f"{CLUSTER}\n{text}")

    assert (found.message("ns/a"), found.why("ns/a.0")) == (headline, message)


def test_admission_goes_on_with_the_queue_of_the_smaller_share() -> None:
    text = f"""
        {CLUSTER}
        queue a
        queue b
        job ns/old min=1 queue=a phase=Running
        pods ns/old 2 cpu=1 on=n1
        job ns/a minResources=cpu:5 queue=a age=9 pods=1 cpu=1
        job ns/b minResources=cpu:7 queue=b pods=1 cpu=1
    """
    assert plan(text).phases() == {"old": "Running", "a": REFUSED, "b": ADMITTED}


class Reluctant(Plugin[NoArgs], JobEnqueueable):
    """Refuses every job, and keeps the names of those that it was asked about."""

    name = "reluctant"
    by_request_alone = True
    asked: ClassVar[list[str]] = []

    def job_enqueueable(self, job: JobView) -> Refusal:
        self.asked.append(job.job.spec.name)
        return Refusal("Reluctant", "not today", code=Code.REFUSED)


class Choosy(Reluctant):
    """The same, for reasons of its own."""

    name = "choosy"
    by_request_alone = False


@pytest.mark.parametrize(
    ("plugin", "asked"),
    [
        pytest.param(Reluctant, ["a1", "b1", "c1", "d1", "e1"], id="one of each request"),
        pytest.param(Choosy, ["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "e1", "e2"], id="each"),
    ],
)
def test_plugins_are_asked_once_about_jobs_that_ask_for_the_same(plugin: type[Reluctant], asked: list[str]) -> None:
    requests = {
        "a": "x/a{} minResources=cpu:1",
        "b": "x/b{} minResources=cpu:2",
        "c": "y/c{} minResources=cpu:1",
        "d": "x/d{} minResources=cpu:1 queue=other",
        "e": "x/e{} minResources=cpu:1,memory:1Gi",
    }
    jobs = "\n".join(f"job {line.format(number)}" for line in requests.values() for number in (1, 2))
    registry = Registry.of((*PLUGINS, plugin), REGISTRY.actions.values())
    policy = Policy(("enqueue",), (PluginTier((PluginConf(plugin.name, NoArgs()),)),))
    Reluctant.asked.clear()
    report = run_cycle(mirror(manifests(f"{CLUSTER}\nqueue other\n{jobs}")).snapshot(NOW), policy, registry)
    assert sorted(Reluctant.asked) == asked
    assert {outcome.message for outcome in report.jobs.values()} == {"not today"}
