"""A plan on manifests: the daemon's mirror and cycle, without a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from vsched import api
from vsched.api.manifests import Manifests
from vsched.arbitrator.rules import ArbitrationRules
from vsched.cli.plan.arbitrate import AT_ONCE, Rounds, is_wanted
from vsched.cli.plan.claims import new_volume_claims
from vsched.cli.plan.moments import next_moment
from vsched.cli.plan.proving import OnDecided, unchecked
from vsched.cli.plan.view import Planned
from vsched.cli.plan.words import objects as words
from vsched.cli.show.output import say
from vsched.daemon.loop.callouts import Caller
from vsched.errors import BadObject
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.words.lists import counted
from vsched.kernels.topology.membership import membership
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS, WorkloadTable
from vsched.mirror.stores import MirrorSettings
from vsched.mirror.unserved import UnservedTerms
from vsched.mirror.whatif.paper import PaperMirror
from vsched.model.nodes.usage import Reading
from vsched.model.plan import CycleReport, Evict
from vsched.model.snapshot import Snapshot
from vsched.plugins.allocation import ALLOCATION
from vsched.settings.installed import registry


class OnPaper(NamedTuple):
    """A plan, and the cluster in which it has come true."""

    planned: Planned
    mirror: PaperMirror
    policy: Policy
    """With what arbitration adds to it."""
    rounds: Rounds | None
    """Divides the cluster among namespaces; None where nobody does."""
    moment: float
    """The time of the last cycle."""

    def snapshot(self) -> Snapshot:
        """The cluster in which the plan has come true, as the next cycle would see it."""
        found = self.mirror.snapshot(self.moment)
        return found if self.rounds is None else self.rounds.arbitrate(found)[0]


def decide_on_paper(
    manifests: Manifests,
    policy: Policy,
    names: Sequence[str],
    *,
    cycles: int,
    now: float,
    usage: Reading | None = None,
    rules: ArbitrationRules | None = None,
    ignored: Iterable[str] = (),
    workloads: WorkloadTable = NO_WORKLOADS,
    on_decided: OnDecided = unchecked,
) -> OnPaper:
    """The same, with the cluster in which the plan has come true; ``workloads`` say what gangs there are.

    ``on_decided`` is told of each cycle.
    """
    if rules is None and is_wanted(manifests.objects):
        rules = AT_ONCE
    mirror = PaperMirror(
        MirrorSettings(
            frozenset(names),
            open_without_state=True,
            arbitrating=rules is not None,
            ignored=frozenset(ignored),
            workloads=workloads,
        )
    )
    mirror.know_owners({kind for kind, objects in manifests.objects.items() if objects})
    mirror.inputs.use(usage)
    for kind, objects in manifests.objects.items():
        mirror.intake.replace(kind, objects)
    if mirror.broken:
        raise BadObject(
            "\n".join(
                f"{manifests.origins[broken.kind, broken.namespace, broken.name]}: {broken.message}"
                for broken in mirror.broken.values()
            )
        )
    for found in mirror.blemished.values():
        origin = manifests.origins[found.kind, found.namespace, found.name]
        say(f"vsched: {origin}: {found.message}", err=True)
    _tell_of_other_schedulers(manifests.objects.get("Pod", ()), names)
    mirror.bind_volumes(new_volume_claims(manifests))
    rounds = None if rules is None else Rounds(mirror, rules, policy)
    if rounds is not None:
        policy = policy.with_plugin(ALLOCATION)
    reports, moment, ended = list[CycleReport](), now, list[str]()
    snapshot = mirror.snapshot(moment)
    with Caller() as caller:
        for number in range(cycles):
            if number:
                moment = next_moment(mirror, reports, moment, ended)
                snapshot = mirror.snapshot(moment)
            if not reports:
                _tell_of_broken_trees(snapshot)
                _tell_of_unserved(mirror, snapshot, policy, manifests)
            evicted: tuple[Evict, ...] = ()
            if rounds is not None:
                snapshot, evicted = rounds.arbitrate(snapshot)
            report = run_cycle(snapshot, policy, registry(), callout=caller.cycle())
            on_decided(snapshot, policy, report)
            report = replace(report, evictions=(*evicted, *report.evictions))
            reports.append(report)
            mirror.settle(report)
    if caller.problem:
        say(words.extender_does_not_answer(caller.problem), err=True)
    shares = None if rounds is None or not reports else rounds.shares()
    planned = Planned(reports, snapshot.queues, manifests.ignored, now, ended, shares, snapshot.called)
    return OnPaper(planned, mirror, policy, rounds, moment)


def _tell_of_unserved(mirror: PaperMirror, snapshot: Snapshot, policy: Policy, manifests: Manifests) -> None:
    """Say which objects state what no plugin of the policy acts on."""
    for _ in UnservedTerms(mirror.unserved, registry(), lambda: policy).looking(snapshot):
        pass
    for found in mirror.unserved.values():
        origin = manifests.origins.get((found.kind, found.namespace, found.name))
        say(f"vsched: {f'{origin}: ' if origin else ''}{found.message}", err=True)


def _tell_of_other_schedulers(pods: Iterable[api.Object], names: Sequence[str]) -> None:
    """One line for each scheduler that is not planned for and has pods that wait."""
    theirs: dict[str, list[str]] = {}
    for pod in pods:
        if isinstance(pod, api.Pod) and not pod.spec.node_name:
            scheduler = pod.spec.scheduler_name or ""
            if scheduler not in names:
                theirs.setdefault(scheduler or "default-scheduler", []).append(pod.metadata.name)
    for scheduler, found in sorted(theirs.items()):
        which = words.pods_left_out(counted(len(found), "pod", "pods"), scheduler, ", ".join(found[:3]))
        say(
            words.other_scheduler(which, " or ".join(filter(None, names))),
            err=True,
        )


def _tell_of_broken_trees(snapshot: Snapshot) -> None:
    """One line for each reason why HyperNodes are left out."""
    if not snapshot.topology.hypernodes:
        return
    trees: dict[str, list[str]] = {}
    for name, why in membership(snapshot.topology, snapshot.nodes.statics).problems.items():
        trees.setdefault(why, []).append(name)
    for why, names in trees.items():
        say(
            words.hypernodes_left_out(counted(len(names), "HyperNode", "HyperNodes"), ", ".join(names[:3]), why),
            err=True,
        )
