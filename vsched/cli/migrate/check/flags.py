"""The flags of Volcano's scheduler, and what does the same in vsched."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from vsched.cli.migrate.check.findings import Finding, Verdict

PART = "flags of the scheduler"
Answer = tuple[Verdict, str]
_WORKS, _DIFFERS, _MISSING = Verdict.WORKS, Verdict.DIFFERS, Verdict.MISSING

GATES = {
    "SchedulingGatesQueueAdmission": "the controller of gates (controllers.gates)",
    "CSIStorage": "storage capacities always count",
    "PodDisruptionBudgetsSupport": "disruption budgets always count",
    "ResourceTopology": "the plugin numa-aware decides",
    "PriorityClass": "priorities always count",
    "QueueCommandSync": "controllers.queues",
    "WorkLoadSupport": "controllers.podGroups",
    "VolcanoJobSupport": "controllers.jobs",
}
"""Feature gates of Volcano, and what stands for them."""


def flags_of(container: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The flags of a container with their values, in order; a flag without one is ``true``."""
    parts: list[str] = []
    for word in (*(container.get("command") or ()), *(container.get("args") or ())):
        parts += _split(word) if " " in word.strip() else [word.strip()]
    found: list[tuple[str, str]] = []
    for at, word in enumerate(parts):
        if not word.startswith("-") or word.strip("-") == "" or word == "-c":
            continue  # "-c" is the shell's
        name, given, value = word.lstrip("-").partition("=")
        following = parts[at + 1] if at + 1 < len(parts) else "-"
        if not given:
            value = "true" if following.startswith("-") or ">" in following else following
        found.append((name, value))
    return found


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def flag_findings(flags: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """A finding for each flag."""
    for name, value in flags:
        verdict, says = _answer(name, value)
        yield Finding(PART, f"--{name}={value[:80]}", verdict, says)


def _answer(name: str, value: str) -> Answer:
    if name == "feature-gates":
        return _gates(value)
    if name in _BY_VALUE:
        return _BY_VALUE[name](value)
    if name.startswith("leader-elect") or name == "lock-object-namespace":
        return _WORKS, "leaderElection of the chart"
    return _FLAGS.get(name, (_DIFFERS, "vsched has no such flag (vsched run --help)"))


def _gates(value: str) -> Answer:
    gates = [one.partition("=") for one in value.split(",") if one]
    off = [gate for gate, _, on in gates if gate in GATES and on != "true"]
    unknown = [gate for gate, _, _ in gates if gate not in GATES]
    if off or unknown:
        rest = [f"{gate} cannot be switched off here: {GATES[gate]}" for gate in off]
        return _DIFFERS, "; ".join([*rest, *(f"vsched has no gate {gate}" for gate in unknown)])
    return _WORKS, "; ".join(f"{gate}: {GATES[gate]}" for gate, _, _ in gates)


def _unless(value: str, works: Answer, otherwise: Answer) -> Callable[[str], Answer]:
    return lambda given: works if given == value else otherwise


_BY_VALUE: dict[str, Callable[[str], Answer]] = {
    "enable-pprof": _unless("false", (_WORKS, ""), (_DIFFERS, "there is no pprof")),
    "ignored-provisioners": _unless("", (_WORKS, ""), (_DIFFERS, "volumes of every provisioner count")),
    "node-selector": _unless(
        "",
        (_WORKS, ""),
        (_MISSING, "vsched places pods on all nodes: keep them off others by taints or node selectors"),
    ),
    "plugins-dir": _unless(
        "", (_WORKS, ""), (_MISSING, "plugins in Go cannot be loaded; those of vsched are Python packages")
    ),
    "priority-class": _unless("true", (_WORKS, ""), (_DIFFERS, "priorities always count")),
}
_CONNECTION = (_WORKS, "vsched has a connection and certificates of its own (tls of the chart)")
_LOG = (_WORKS, "logLevel of the chart")
_ALL_NODES = (_DIFFERS, "vsched looks at all nodes")
_NOT_NEEDED = (_WORKS, "nothing has to be set")
_FLAGS: dict[str, Answer] = {
    "scheduler-name": (_WORKS, "schedulerNames of the chart"),
    "scheduler-conf": (_WORKS, "the policy: below"),
    "schedule-period": (_DIFFERS, "sessions start on change, and at least this often: extraArgs=[--schedule-period=…]"),
    "default-queue": (_WORKS, "defaultQueue of the chart"),
    "listen-address": (_WORKS, "service.port of the chart"),
    "healthz-address": (_WORKS, "healthPort of the chart"),
    "enable-healthz": (_WORKS, "always served"),
    "enable-metrics": (_WORKS, "always served"),
    "kube-api-qps": (_WORKS, "api.qps of the chart"),
    "kube-api-burst": (_WORKS, "api.burst of the chart"),
    "csi-storage": (_WORKS, "storage capacities always count"),
    "minimum-feasible-nodes": _ALL_NODES,
    "minimum-percentage-nodes-to-find": _ALL_NODES,
    "percentage-nodes-to-find": _ALL_NODES,
    "cache-dumper": (_DIFFERS, "vsched dump instead of a signal"),
    "cache-dump-dir": (_DIFFERS, "vsched dump instead of a signal"),
    **dict.fromkeys(("node-worker-threads", "gate-removal-worker-num", "resync-period"), _NOT_NEEDED),
    "resource-sync-timeout": _NOT_NEEDED,
    "scheduler-sharding-mode": (_WORKS, "nodeShard.mode of the chart"),
    "scheduler-sharding-name": (_WORKS, "nodeShard.name of the chart"),
    **dict.fromkeys(("master", "kubeconfig", "ca-cert-file", "tls-cert-file", "tls-private-key-file"), _CONNECTION),
    **dict.fromkeys(("v", "logtostderr", "alsologtostderr", "stderrthreshold", "log-flush-frequency"), _LOG),
}
