"""What was predicted is what happens: random clusters, changed on paper and at the API server, decided on by both."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from math import floor
from pathlib import Path
from random import Random
from typing import Any

import click
import pytest

from tests.support.examples import examples, seeds
from tests.support.held import holding
from tests.support.whatifs import Edited, cluster_of, edits_of, make, more_work, policy_text
from vsched.cli.plan.edits import InOrder, editing
from vsched.cli.plan.edits import edits_of as edits_in
from vsched.cli.plan.live import what_if
from vsched.model.jobs.advice import headline_of
from vsched.model.plan import CycleReport
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

AT_ONCE = 5
CASES = seeds(examples(100), "edits")
MADE_UP = re.compile(r"podgroup-[-0-9a-f]+")
"""PodGroups of single pods are named by the pod's uid."""
ABRUPT = ClusterSettings(ControllerSettings(PodTimes(termination=0.0), orphan_quarantine=0.0))
"""Nothing takes its time: what an edit leads to is there before the next session."""


class SteadyClock:
    """The time that the API server writes: it goes on when it is told to."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)

    def __call__(self) -> datetime:
        return self.now

    def tick(self) -> None:
        self.now += timedelta(seconds=1)


@click.command(cls=InOrder)
@editing
def asking(**_: Any) -> None:
    """The flags of edits alone."""


async def outcomes(seed: int, folder: Path) -> tuple[list[Edited], CycleReport, CycleReport]:
    """The edits of one case, the first session after them as it was predicted, and as it was."""
    random, clock = Random(seed), SteadyClock()
    async with Cluster(settings=ABRUPT, now=clock) as cluster, holding(cluster, policy_text(random)) as held:
        for obj in cluster_of(random):
            clock.tick()
            cluster.apply([obj])
        await held.quiet()
        await held.gate.hold()
        if random.random() < 0.5:
            clock.tick()
            cluster.apply(more_work(random, 8))
        await held.quiet()
        recording = await held.dumped()
        await held.quiet()
        edits = edits_of(random, cluster, folder)
        flags = [flag for edit in edits if edit.kind != "config" for flag in edit.flags]
        context = asking.make_context("plan", flags)
        policies = [str(edit.value) for edit in edits if edit.kind == "config"]
        policy = load_text(policies[0], "policy", REGISTRY).policy if policies else None
        predicted = what_if(recording, edits_in(context, context.params), policy=policy).then.last
        clock.now = datetime.fromtimestamp(floor(recording.snapshot.now) + 1, UTC)
        for edit in edits:
            make(cluster, edit)
        for text in policies:
            held.policy.choose(text)
        await held.quiet()
        after = await held.dumped()
        actual = after.report
        assert actual is not None
        assert after.head.number == recording.head.number + 1
        return edits, predicted, actual


def told(report: CycleReport) -> dict[str, Any]:
    """What can be the same of two decisions: names that controllers make up are left out, their beginnings are not."""

    def app(name: str) -> str:
        return name.partition("-")[0]

    def line(message: str) -> str:
        # How many of a gang fit is told where its queue was full by its turn; names decide between equal jobs.
        return MADE_UP.sub("podgroup-…", headline_of(message)).partition(" There is room for ")[0]

    return {
        "binds": Counter((app(bind.name), bind.node) for bind in report.binds),
        "evictions": Counter((app(each.name), each.node, each.action) for each in report.evictions),
        "nominations": Counter((app(each.name), each.node) for each in report.nominations),
        "jobs": {
            key: (job.phase, job.ready, job.pending, line(job.message))
            for key, job in report.jobs.items()
            if not key.startswith("default/podgroup-")
        },
        "pods": Counter((app(each.name), each.reason, line(each.message)) for each in report.unschedulable.values()),
        "queues": {
            name: (queue.weight, round(queue.share, 9), queue.allocated, queue.deserved)
            for name, queue in report.queues.items()
        },
    }


def difference(edits: list[Edited], predicted: CycleReport, actual: CycleReport) -> str:
    """What differs, empty where nothing does. A session tells of jobs that changed only, a plan of all."""
    left, right = told(predicted), told(actual)
    left["jobs"] = {key: job for key, job in left["jobs"].items() if key in right["jobs"]}
    wrong = [f"{part}: {left[part]} but {right[part]}" for part in left if left[part] != right[part]]
    return "; ".join([*(" ".join(edit.flags) for edit in edits), *wrong]) if wrong else ""


@pytest.mark.parametrize("drawn", [CASES[at : at + AT_ONCE] for at in range(0, len(CASES), AT_ONCE)])
async def test_the_plan_predicted_is_the_plan_made(drawn: list[int], tmp_path: Path) -> None:
    async def one(seed: int) -> str:
        folder = tmp_path / str(seed)
        folder.mkdir()
        return difference(*await outcomes(seed, folder))

    wrong = await asyncio.gather(*map(one, drawn))
    assert [text for text in wrong if text] == []
