"""Annotations and labels of Volcano that are in use, and what vsched makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from vsched.cli.migrate.check.findings import Finding, Obj, Verdict
from vsched.cli.migrate.check.words import verdicts as words
from vsched.framework.words.lists import counted

GROUP_NAME = "scheduling.k8s.io/group-name"
OLD_WAITING_TIME = "sla-waiting-time"

_NAMES = {
    "scheduling.k8s.io": ("group-name",),
    "scheduling.volcano.sh": (
        "group-name",
        "group-min-member",
        "group-min-resources",
        "queue-name",
        "queue-state",
        "queue-allocation-gate",
    ),
    "": ("sla-waiting-time",),
    "volcano.sh": (
        "sla-waiting-time",
        "task-spec",
        "task-index",
        "task-priority",
        "template-uid",
        "preemptable",
        "revocable-zone",
        "cooldown-time",
        "jdb-min-available",
        "jdb-max-unavailable",
        "numa-topology-policy",
        "topology-decision",
        "hierarchy",
        "hierarchy-weights",
        "nodegroup-name",
        "nodegroup-resource-limits",
        "job-allocated-hypernode",
        "oversubscription",
        "oversubscription-cpu",
        "oversubscription-memory",
        "network-topology-mode",
        "network-topology-highest-tier",
        "task-topology-affinity",
        "task-topology-anti-affinity",
        "task-topology-task-order",
        "resource-strategy-scoring-type",
        "resource-strategy-weight",
        "job-name",
        "job-namespace",
        "job-version",
        "job-retry-count",
        "queue-name",
        "partition-id",
        "closed-by-parent",
    ),
}
WORKS = frozenset(f"{domain}/{name}".lstrip("/") for domain, names in _NAMES.items() for name in names)
"""Those that vsched or its controllers read or write as Volcano does."""
OTHERS = {
    "volcano.sh/forward-cluster": (Verdict.DIFFERS, words.NO_OTHER_CLUSTERS),
    "volcano.sh/qos-level": (Verdict.WORKS, words.FOR_THE_AGENT),
    "volcano.sh/offline-job-evicting": (Verdict.WORKS, words.FOR_THE_AGENT),
}
_DEVICES = ("volcano.sh/gpu-", "volcano.sh/vgpu-", "volcano.sh/devices-to-allocate", "volcano.sh/node-vgpu-")


def key_findings(objects: Mapping[str, Iterable[Obj]]) -> Iterator[Finding]:
    """A finding for each key, with the numbers of objects by kind."""
    counts: dict[str, Counter[str]] = {}
    for kind, found in objects.items():
        for obj in found:
            metadata = obj["metadata"]
            for key in {*(metadata.get("annotations") or ()), *(metadata.get("labels") or ())}:
                if is_volcanos(key):
                    counts.setdefault(key, Counter())[kind] += 1
    for key, kinds in sorted(counts.items()):
        verdict, says = _answer(key)
        on = ", ".join(counted(count, kind.removesuffix("s"), kind) for kind, count in sorted(kinds.items()))
        yield Finding(words.KEYS, key, verdict, f"{says} ({on})" if says else f"on {on}", kinds.total())


def is_volcanos(key: str) -> bool:
    """Whether a key is one of Volcano's."""
    domain, slash, _ = key.partition("/")
    return key in (GROUP_NAME, OLD_WAITING_TIME) or bool(slash and (domain + ".").endswith("volcano.sh."))


def _answer(key: str) -> tuple[Verdict, str]:
    if key in WORKS:
        return Verdict.WORKS, ""
    if key in OTHERS:
        return OTHERS[key]
    if key.startswith(_DEVICES):
        return Verdict.WORKS, words.FOR_DEVICESHARE
    return Verdict.DIFFERS, words.NOT_READ
