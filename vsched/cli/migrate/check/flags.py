"""The flags of Volcano's scheduler, and what does the same in vsched."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from vsched.cli.migrate.check.findings import Finding, Verdict
from vsched.cli.migrate.check.words import verdicts as words

Answer = tuple[Verdict, str]
_WORKS, _DIFFERS, _MISSING = Verdict.WORKS, Verdict.DIFFERS, Verdict.MISSING

GATES = {
    "SchedulingGatesQueueAdmission": words.GATES_CONTROLLER,
    "CSIStorage": words.CAPACITIES_COUNT,
    "PodDisruptionBudgetsSupport": words.BUDGETS_COUNT,
    "ResourceTopology": words.NUMA_AWARE_DECIDES,
    "PriorityClass": words.PRIORITIES_COUNT,
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
        yield Finding(words.FLAGS, f"--{name}={value[:80]}", verdict, says)


def _answer(name: str, value: str) -> Answer:
    if name == "feature-gates":
        return _gates(value)
    if name in _BY_VALUE:
        return _BY_VALUE[name](value)
    if name.startswith("leader-elect") or name == "lock-object-namespace":
        return _WORKS, words.LEADER_ELECTION
    return _FLAGS.get(name, (_DIFFERS, words.NO_SUCH_FLAG))


def _gates(value: str) -> Answer:
    gates = [one.partition("=") for one in value.split(",") if one]
    off = [gate for gate, _, on in gates if gate in GATES and on != "true"]
    unknown = [gate for gate, _, _ in gates if gate not in GATES]
    if off or unknown:
        rest = [words.cannot_be_switched_off(gate, GATES[gate]) for gate in off]
        return _DIFFERS, "; ".join([*rest, *(words.no_gate(gate) for gate in unknown)])
    return _WORKS, "; ".join(f"{gate}: {GATES[gate]}" for gate, _, _ in gates)


def _unless(value: str, works: Answer, otherwise: Answer) -> Callable[[str], Answer]:
    return lambda given: works if given == value else otherwise


_BY_VALUE: dict[str, Callable[[str], Answer]] = {
    "enable-pprof": _unless("false", (_WORKS, ""), (_DIFFERS, words.NO_PPROF)),
    "ignored-provisioners": _unless("", (_WORKS, ""), (_DIFFERS, words.ALL_PROVISIONERS)),
    "node-selector": _unless(
        "",
        (_WORKS, ""),
        (_MISSING, words.ALL_NODES_USED),
    ),
    "plugins-dir": _unless("", (_WORKS, ""), (_MISSING, words.NO_GO_PLUGINS)),
    "priority-class": _unless("true", (_WORKS, ""), (_DIFFERS, words.PRIORITIES_COUNT)),
}
_CONNECTION = (_WORKS, words.OWN_CONNECTION)
_LOG = (_WORKS, words.LOG_LEVEL)
_ALL_NODES = (_DIFFERS, words.ALL_NODES_LOOKED_AT)
_NOT_NEEDED = (_WORKS, words.NOTHING_TO_SET)
_FLAGS: dict[str, Answer] = {
    "scheduler-name": (_WORKS, words.SCHEDULER_NAMES),
    "scheduler-conf": (_WORKS, words.POLICY_BELOW),
    "schedule-period": (_DIFFERS, words.SESSIONS_ON_CHANGE),
    "default-queue": (_WORKS, words.DEFAULT_QUEUE),
    "listen-address": (_WORKS, words.SERVICE_PORT),
    "healthz-address": (_WORKS, words.HEALTH_PORT),
    "enable-healthz": (_WORKS, "always served"),
    "enable-metrics": (_WORKS, "always served"),
    "kube-api-qps": (_WORKS, words.API_QPS),
    "kube-api-burst": (_WORKS, words.API_BURST),
    "csi-storage": (_WORKS, words.CAPACITIES_COUNT),
    "minimum-feasible-nodes": _ALL_NODES,
    "minimum-percentage-nodes-to-find": _ALL_NODES,
    "percentage-nodes-to-find": _ALL_NODES,
    "cache-dumper": (_DIFFERS, words.DUMP_INSTEAD),
    "cache-dump-dir": (_DIFFERS, words.DUMP_INSTEAD),
    **dict.fromkeys(("node-worker-threads", "gate-removal-worker-num", "resync-period"), _NOT_NEEDED),
    "resource-sync-timeout": _NOT_NEEDED,
    "scheduler-sharding-mode": (_WORKS, words.SHARD_MODE),
    "scheduler-sharding-name": (_WORKS, words.SHARD_NAME),
    **dict.fromkeys(("master", "kubeconfig", "ca-cert-file", "tls-cert-file", "tls-private-key-file"), _CONNECTION),
    **dict.fromkeys(("v", "logtostderr", "alsologtostderr", "stderrthreshold", "log-flush-frequency"), _LOG),
}
