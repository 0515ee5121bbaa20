"""Small wrong changes to the daemon, and how many bottles it takes until a promise of the bottle tells.

``make bottle-mutations`` runs all of them, each in a process of its own, and prints a table as the guide has it
(``vsched/lab/README.md``); with names, those alone.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson
import pytest

from vsched.daemon.parts.outcomes import Outcomes, StatusOutcomes
from vsched.framework.combine.decisions import PluginDecisions
from vsched.kube.lease.candidate import Elector
from vsched.kube.watch.reflector import Reflector
from vsched.lab.soak.bottle.faults import (
    BottleFaults,
    ClusterFault,
    ClusterFaultKind,
    ProcessFault,
    ProcessFaultKind,
    WebhookFault,
    WebhookFaultKind,
)
from vsched.lab.soak.bottle.run import Bottle
from vsched.lab.soak.bottle.settings import BottleSettings
from vsched.mirror.assumptions import Assumptions
from vsched.mirror.intake import ObjectIntake
from vsched.mirror.state.resource_versions import SeenVersions
from vsched.record.observer import WorkObserver
from vsched.sim.api.fault_plan import FaultKind, FaultRule
from vsched.writes import bindings, evictions
from vsched.writes.bind_backoff import BindBackoff
from vsched.writes.claims import devices
from vsched.writes.claims.releases import Releases
from vsched.writes.claims.transaction import GangTransaction
from vsched.writes.confirmations import Confirmations
from vsched.writes.eviction_backoff import EvictionBackoff
from vsched.writes.status import nominations, podgroups
from vsched.writes.status.pods import PodConditions
from vsched.writes.status.queues import QueueStatuses
from vsched.writes.workqueue import Workqueue
from vsched.writes.writer import Write, Writer

MOST_SEEDS = 3
"""Bottles that are tried for a mutation."""
MOST_SECONDS = 240
"""Of processor time, for all bottles of a mutation: one that never comes to an end is found, too."""
LOOKS = 24
"""How often it is looked, each time, whether all is settled: faults that heal later than that count as found."""
NEVER_ENDS, ENDS_EARLY = "does not end", "ends with an error"
SENT_LATE = ("pods/binding", "pods/eviction")
"""So that names are used again while a decision is on its way."""
FAULTS = BottleFaults(
    rules=(
        FaultRule(fault=FaultKind.ERROR, percent=3),
        FaultRule(fault=FaultKind.CONFLICT, percent=3),
        FaultRule(fault=FaultKind.DROP_AFTER, percent=3),
        FaultRule(fault=FaultKind.DENIED, percent=2),
        FaultRule(fault=FaultKind.SLOW, percent=30, resources=SENT_LATE, delay_ms=800.0),
        FaultRule(fault=FaultKind.WATCH_CUT, percent=5, delay_ms=8000.0),
        FaultRule(fault=FaultKind.WATCH_EXPIRED, percent=5, delay_ms=8000.0),
        FaultRule(fault=FaultKind.WATCH_REPEATS, percent=10),
        FaultRule(fault=FaultKind.WATCH_LATE, percent=10, delay_ms=1000.0),
    ),
    processes=(
        ProcessFault(fault=ProcessFaultKind.KILL, every_seconds=12.0),
        ProcessFault(fault=ProcessFaultKind.PAUSE, every_seconds=12.0, lasts_seconds=30.0),
    ),
)
CROWDED = BottleSettings(
    seconds=18.0,
    nodes=3,
    daemons=1,
    pods_per_minute=150.0,
    claims=True,
    namesakes=True,
    policy=Path("config/policies/taking-back.yaml"),
    faults=FAULTS,
)
"""Few nodes, much work, and names that are used again."""
ACTS = ("pods/binding", "pods/eviction")
ROUGH = msgspec.structs.replace(
    CROWDED,
    faults=BottleFaults(
        rules=(
            FaultRule(fault=FaultKind.ERROR, percent=70, resources=("pods/eviction",)),
            FaultRule(fault=FaultKind.CONFLICT, percent=20, resources=("pods/binding",)),
            FaultRule(fault=FaultKind.DROP_AFTER, percent=25, resources=ACTS),
            FaultRule(fault=FaultKind.DENIED, percent=10, resources=("pods/binding",)),
            FaultRule(fault=FaultKind.CONFLICT, percent=10),
            FaultRule(fault=FaultKind.ERROR, percent=10),
            FaultRule(fault=FaultKind.WATCH_EXPIRED, percent=20, delay_ms=4000.0),
            FaultRule(fault=FaultKind.WATCH_CUT, percent=20, delay_ms=4000.0),
            FaultRule(fault=FaultKind.WATCH_SKIPS, percent=20, delay_ms=3000.0),
            FaultRule(fault=FaultKind.WATCH_LATE, percent=50, delay_ms=3000.0),
        )
    ),
)
"""The same where most requests fail in some way, and watches are late."""
SEVERAL = msgspec.structs.replace(
    CROWDED,
    seconds=60.0,
    daemons=2,
    faults=BottleFaults(
        processes=(
            ProcessFault(fault=ProcessFaultKind.PAUSE, every_seconds=20.0, lasts_seconds=40.0),
            ProcessFault(fault=ProcessFaultKind.KILL, every_seconds=60.0),
        ),
    ),
)
"""Two daemons, of which one may act."""
STALLED = msgspec.structs.replace(
    SEVERAL,
    seconds=30.0,
    lease_seconds=3.0,
    faults=BottleFaults(
        rules=(FaultRule(fault=FaultKind.ERROR, percent=50, resources=ACTS),),
        processes=(ProcessFault(fault=ProcessFaultKind.PAUSE, every_seconds=3.0, lasts_seconds=10.0),),
    ),
)
"""The same with short Leases, where they pause while they are about to send again what has failed."""
RESTORED = msgspec.structs.replace(
    CROWDED,
    seconds=60.0,
    faults=BottleFaults(
        rules=(FaultRule(fault=FaultKind.WATCH_LATE, percent=100, resources=("pods",), delay_ms=3000.0),),
        cluster=(
            ClusterFault(fault=ClusterFaultKind.RESTORE, every_seconds=10.0, lasts_seconds=5.0, back_seconds=15.0),
        ),
    ),
)
"""An API server that is restored from backups, and watches that have not shown all that is lost then."""
UNANSWERED = msgspec.structs.replace(
    CROWDED,
    claims=False,
    faults=BottleFaults(
        rules=(
            FaultRule(fault=FaultKind.UNAVAILABLE, percent=60, resources=("pods/binding",)),
            FaultRule(fault=FaultKind.DROP_AFTER, percent=90, resources=("pods/binding",)),
            FaultRule(fault=FaultKind.WATCH_LATE, percent=100, resources=("pods",), delay_ms=4000.0),
        )
    ),
)
"""Answers to bindings are lost and those to their repetition say nothing, while watches are late."""
BROKEN_UP = msgspec.structs.replace(
    CROWDED,
    seconds=40.0,
    nodes=6,
    pods_per_minute=60.0,
    namesakes=False,
    faults=BottleFaults(processes=(ProcessFault(fault=ProcessFaultKind.KILL, every_seconds=1.5),)),
)
"""Daemons are killed while they reserve claims for gangs that are broken up meanwhile."""
DENIED = msgspec.structs.replace(
    CROWDED,
    seconds=180.0,
    nodes=6,
    pods_per_minute=20.0,
    namesakes=False,
    faults=BottleFaults(
        webhooks=(
            WebhookFault(
                fault=WebhookFaultKind.REFUSES,
                every_seconds=1.0,
                lasts_seconds=1e5,
                percent=20.0,
                resources=("resourceclaims", "resourceclaims/status"),
            ),
        )
    ),
)
"""Admission refuses some claims for good."""
FULL = BottleSettings(
    seconds=30.0,
    nodes=4,
    pods_per_minute=60.0,
    faults=BottleFaults(
        processes=(ProcessFault(fault=ProcessFaultKind.FULL_DISK, every_seconds=8.0, lasts_seconds=15.0),)
    ),
)
"""A disk that is full now and then."""
INTERRUPTED = msgspec.structs.replace(
    CROWDED, faults=BottleFaults(rules=(FaultRule(fault=FaultKind.WATCH_CUT, percent=100, delay_ms=3000.0),))
)
"""Watches that break again and again, and have to be resumed."""

Changed = Callable[[Any], Any]
"""What takes the place of a function or a property, made of what it was."""


class Mutation(NamedTuple):
    """Places that are changed, and the bottle that is to find it."""

    changes: Sequence[tuple[Any, str, Changed]]
    bottle: BottleSettings = CROWDED
    heals: str = ""
    """Why none of the bottles finds it: what else protects."""


def always(value: object) -> Changed:
    """The same answer to everything."""
    return lambda before: lambda *_, **__: value


def nothing_done(before: Any) -> Any:
    """An asynchronous function that does nothing."""

    async def nothing(*_: object, **__: object) -> None:
        return None

    return nothing


def without(*path: str) -> Changed:
    """A function that makes a write, without a field of its body."""

    def changed(before: Any) -> Any:
        def made(*args: Any) -> Write:
            write: Write = before(*args)
            body = orjson.loads(write.body)
            inner = body
            for name in path[:-1]:
                inner = inner[name]
            inner.pop(path[-1], None)
            return write._replace(body=orjson.dumps(body))

        return made

    return changed


def claims_unpinned(before: Any) -> Any:
    def patch(*args: Any, **more: Any) -> Any:
        send = before(*args, **more)
        return send._replace(write=without("metadata")(lambda: send.write)())

    return patch


def nothing_given_back(before: Any) -> Any:
    async def undo(self: Any) -> list[str]:
        return []

    return undo


def leads_for_ever(before: Any) -> Any:
    return lambda self: self.leading.is_set()


def every_fifth_lost(before: Any) -> Any:
    count = iter(range(1 << 30))
    return lambda self, item: None if next(count) % 5 == 4 else before(self, item)


def sent_once(before: Any) -> Any:
    async def send(self: Any, write: Any, *_: object, **__: object) -> Any:
        return await self._once(write)

    return send


def admits_all(before: Any) -> Any:
    def admit(self: Any, key: str, version: int) -> bool:
        before(self, key, version)
        self._versions[key] = version
        return True

    return admit


def deletes_all(before: Any) -> Any:
    def delete(self: Any, key: str, version: int) -> bool:
        before(self, key, version)
        self._versions.pop(key, None)
        return True

    return delete


def keeps_what_is_gone(before: Any) -> Any:
    def finish(self: Any) -> Iterator[str]:
        list(before(self))
        return iter(())

    return finish


def deaf_to_deletions(kind: str) -> Changed:
    return lambda before: lambda self, of, key: False if of == kind else before(self, of, key)


def refused_is_bound(before: Any) -> Any:
    def binding(self: Any, outcome: Any) -> None:
        if outcome.verdict is bindings.BindOutcome.REFUSED:
            outcome = msgspec.structs.replace(outcome, verdict=bindings.BindOutcome.BOUND)
        before(self, outcome)

    return binding


def no_answer_is_yes(before: Any) -> Any:
    def judge(bind: Any, answer: Any) -> bindings.BindOutcome:
        verdict: bindings.BindOutcome = before(bind, answer)
        return bindings.BindOutcome.BOUND if verdict is bindings.BindOutcome.GAVE_UP else verdict

    return judge


def nothing_was_lost(before: Any) -> Any:
    return lambda self, after=0.0: before(self)


def whatever_version(before: Any) -> Any:
    async def replace(self: Any, client: Any, record: Any, spec: Any) -> None:
        kept = {**record.lease["metadata"]}
        kept.pop("resourceVersion"), kept.pop("uid", None)
        record = msgspec.structs.replace(record, lease={**record.lease, "metadata": kept})
        await before(self, client, record, spec)

    return replace


def nodes_swapped(before: Any) -> Any:
    """Every tenth binding goes to the first node."""
    count = iter(range(1 << 30))

    def made(bind: Any) -> Write:
        write: Write = before(bind)
        if next(count) % 10:
            return write
        body = orjson.loads(write.body)
        body["target"]["name"] = "node-0"
        return write._replace(body=orjson.dumps(body))

    return made


MUTATIONS = {
    "bindings carry no uid": Mutation([(bindings, "binding_write", without("metadata", "uid"))]),
    "evictions carry no uid": Mutation(
        [
            (evictions, "eviction_write", without("deleteOptions")),
            (evictions, "deletion_write", without("preconditions")),
        ]
    ),
    "every tenth binding goes to another node": Mutation([(bindings, "binding_write", nodes_swapped)]),
    "every fifth binding is lost": Mutation([(bindings.Dispatcher, "_submit", every_fifth_lost)]),
    "every fifth eviction is lost": Mutation([(evictions.Evictor, "_submit", every_fifth_lost)]),
    "nothing is sent again": Mutation(
        [(Writer, "send", sent_once)], ROUGH, "what failed is decided or written anew: it only takes longer"
    ),
    "evictions are not carried out": Mutation([(evictions.Evictor, "_evict", nothing_done)]),
    "a refused binding counts as bound": Mutation([(Outcomes, "binding", refused_is_bound)], ROUGH),
    "a refused binding is kept as assumed": Mutation([(BindBackoff, "failed", always(None))], ROUGH),
    "a placement that failed twice is never given up": Mutation([(BindBackoff, "_write", nothing_done)], ROUGH),
    "an answer that was lost counts as no": Mutation(
        [(bindings, "is_doubtful", always(False))],
        UNANSWERED,
        "who was bound is decided on first, and the API server says where it is",
    ),
    "no answer counts as a yes": Mutation([(bindings, "judge", no_answer_is_yes)], UNANSWERED),
    "a gang is bound before it is complete": Mutation([(PluginDecisions, "job_ready", always(True))]),
    "an assumption never ends": Mutation([(Assumptions, "forget", always(False))]),
    "a refused eviction is kept as assumed": Mutation([(EvictionBackoff, "refused", always(None))]),
    "an eviction without an answer is kept as assumed": Mutation([(EvictionBackoff, "doubted", always(None))], ROUGH),
    "late events count": Mutation(
        [(SeenVersions, "admit", admits_all)], ROUGH, "a watch that repeats comes to the newest state in the end"
    ),
    "late deletions count": Mutation(
        [(SeenVersions, "delete", deletes_all)], ROUGH, "a watch that repeats comes to the newest state in the end"
    ),
    "what a list lacks is kept": Mutation([(SeenVersions, "finish", keeps_what_is_gone)], RESTORED),
    "what a list has changed is passed over": Mutation([(SeenVersions, "list", always(False))]),
    "deleted pods are kept": Mutation([(ObjectIntake, "_delete", deaf_to_deletions("Pod"))]),
    "deleted PodGroups are kept": Mutation([(ObjectIntake, "_delete", deaf_to_deletions("PodGroup"))]),
    "statuses of PodGroups carry no uid": Mutation([(podgroups, "podgroup_write", without("metadata"))]),
    "nominations carry no uid": Mutation([(nominations, "pod_status_write", without("metadata"))]),
    "claims are written in whatever version": Mutation([(devices, "patch", claims_unpinned)]),
    "claims are not given back": Mutation([(Releases, "_write", nothing_done)], BROKEN_UP),
    "what a gang has of its claims is kept": Mutation([(GangTransaction, "undo", nothing_given_back)], DENIED),
    "what failed is not tried again": Mutation(
        [(Workqueue, "retry", always(None))], ROUGH, "what objects say is compared again whenever they change"
    ),
    "statuses of PodGroups are not written": Mutation([(podgroups.JobStatuses, "_write", nothing_done)]),
    "why pods wait is not written": Mutation([(PodConditions, "_write", nothing_done)]),
    "what a full disk has lost is not told": Mutation([(WorkObserver, "again", nothing_was_lost)], FULL),
    "statuses of queues are not written": Mutation([(QueueStatuses, "_write", nothing_done)]),
    "a status that was refused counts as written": Mutation(
        [(StatusOutcomes, "status", always(None))], ROUGH, "what was written is compared with the object again later"
    ),
    "a Lease is written in whatever version": Mutation([(Elector, "_replace", whatever_version)], SEVERAL),
    "nobody looks who has the Lease": Mutation([(Elector, "_is_in_force", always(False))], SEVERAL),
    "who was paused acts on an old Lease": Mutation([(Elector, "holds", leads_for_ever)], STALLED),
    "an accepted binding is never looked at again": Mutation([(Confirmations, "accepted", always(None))], RESTORED),
    "watches are resumed at any version": Mutation([(Reflector, "_resume_version", always(""))], INTERRUPTED),
}


NOTHING = Mutation(())


@contextmanager
def changed(mutation: Mutation) -> Iterator[None]:
    """Meanwhile this process has a mutation, and is less patient."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, made in mutation.changes:
            patch.setattr(owner, name, made(getattr(owner, name)))
        for patience in ("vsched.lab.soak.outcomes.LOOKS", "vsched.lab.soak.bottle.users.SETTLE_LOOKS"):
            patch.setattr(patience, LOOKS)
        yield


def broken_by(seed: int, settings: BottleSettings = CROWDED) -> Sequence[str]:
    """The promises that a bottle breaks, the first one first."""
    bottle = Bottle(msgspec.structs.replace(settings, seed=seed))
    return list(bottle.run()["violations"])


def found(name: str, seeds: int = MOST_SEEDS) -> tuple[int, str]:
    """After how many seeds a mutation is found, and by which promise, in this process; 0 where it is not."""
    with changed(MUTATIONS[name]):
        for seed in range(1, seeds + 1):
            if broken := broken_by(seed, MUTATIONS[name].bottle):
                return seed, broken[0]
    return 0, ""


def _row(name: str) -> str:
    command = [sys.executable, "-m", "tests.support.mutations", "--one", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGXCPU:
        seeds, promise = "1", NEVER_ENDS
    else:
        said = done.stdout.strip() or f"1 {ENDS_EARLY}: {done.stderr.strip().splitlines()[-1]}"
        seeds, _, promise = said.partition(" ")
    return f"| {name} | - | {MUTATIONS[name].heals} |" if seeds == "0" else f"| {name} | {seeds} | {promise} |"


def main(arguments: Sequence[str]) -> None:
    if arguments[:1] == ["--one"]:
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 10))
        print(*found(arguments[1]))
        return
    with ThreadPoolExecutor(2) as pool:
        for row in pool.map(_row, arguments or MUTATIONS):
            print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
