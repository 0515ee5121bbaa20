"""The moves for a job of a cluster: of a running one, of a dump, or of manifests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vsched.cli.plan.moving import words
from vsched.cli.plan.trial import instead
from vsched.errors import BadInput
from vsched.explain.moves import MovesAnswer, moves_for
from vsched.explain.names import job_named
from vsched.framework.policy import Policy
from vsched.model.snapshot import Snapshot
from vsched.settings.installed import registry


class Consolidated(NamedTuple):
    """The moves, and what they rest on."""

    answer: MovesAnswer
    edits: Sequence[str]
    notes: Sequence[str]
    now: float
    session: int | None = None
    """The number of the session; None for manifests."""


def consolidated(
    snapshot: Snapshot,
    policy: Policy,
    name: str,
    *,
    edits: Sequence[str] = (),
    notes: Sequence[str] = (),
    session: int | None = None,
) -> Consolidated:
    """The moves by which a job would have room; raises BadInput where there is no such job."""
    job = job_named(snapshot, name)
    if job is None or job.key not in snapshot.jobs:
        raise BadInput(words.no_job(name, instead(name, sorted(map(snapshot.called, snapshot.jobs)))))
    answer, said = moves_for(snapshot, policy, registry(), job.key), list(notes)
    if answer.moves and not answer.by_itself:
        said.append(words.NOT_BY_ITSELF)
    if policy.plugin("extender") is not None:
        said.append(words.EXTENDER_NOT_CALLED)
    return Consolidated(answer, edits, said, snapshot.now, session)
