"""Pictures of what sessions make of clusters of a few lines."""

from __future__ import annotations

from typing import Any

from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.mirror.mirror import Mirror
from vsched.model.frozen import freeze
from vsched.settings.built_in import REGISTRY
from vsched.web.overview.assembly import Around, assemble
from vsched.web.overview.document import Overview
from vsched.web.snapshots import FrozenSnapshot

AROUND = Around(at=NOW, role="leader")
JOBS = """
node n1 cpu=4
queue q
class high 9
job ns/runs min=1 queue=q phase=Running
pods ns/runs 1 cpu=2 on=n1
job ns/starts min=2 pods=2 cpu=1 queue=q class=high
job ns/waits min=3 pods=3 cpu=2 queue=q age=60
job ns/empty min=2 queue=q
job ns/done min=1 queue=q phase=Completed
pods ns/done 1 cpu=1 on=n1 succeeded
"""
"""Those that run, start, wait, have no pods yet, and are over."""


def look(cache: Mirror, now: float = NOW, policy: Policy = DEFAULT_POLICY) -> FrozenSnapshot:
    """A session on a mirror."""
    snapshot = cache.snapshot(now)
    return FrozenSnapshot(freeze(snapshot), policy, run_cycle(snapshot, policy, REGISTRY), 1)


def frozen(text: str, policy: Policy = DEFAULT_POLICY) -> FrozenSnapshot:
    """What a session makes of a cluster."""
    return look(mirror(manifests(text)), policy=policy)


def of(text: str, policy: Policy = DEFAULT_POLICY, before: Overview | None = None, **around: Any) -> Overview:
    """The picture of that session."""
    return assemble(frozen(text, policy), AROUND._replace(**around), before)
