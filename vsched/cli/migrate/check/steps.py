"""The commands that change from Volcano's scheduler to vsched, and back."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from vsched.cli.migrate.check.words import verdicts as words

DEFAULT_NAMES = ("volcano",)
VOLCANO_NAMESPACE = "volcano-system"
FILE = "volcano-scheduler.conf"
CHART = "helm/vsched"


class MigrationSteps(NamedTuple):
    """Commands, each with what it does."""

    there: tuple[tuple[str, str], ...]
    back: tuple[tuple[str, str], ...]


class MigrationState(NamedTuple):
    """What the commands depend on."""

    namespace: str = VOLCANO_NAMESPACE
    kubeconfig: str = ""
    context: str = ""
    scheduler: str = "volcano-scheduler"
    """The Deployment of the scheduler."""
    replicas: int = 1
    names: Sequence[str] = DEFAULT_NAMES
    """The scheduler names of its pods."""
    policy: tuple[str, str] = ("", "")
    """The ConfigMap and the key of its policy; empty where it has none."""
    controllers: bool = True
    """Whether Volcano's controllers run."""
    default_queue: str = ""


def steps_of(now: MigrationState) -> MigrationSteps:
    """Five commands to change, fewer where there is no policy; three to change back."""
    place = shlex.join(["--kubeconfig", now.kubeconfig] if now.kubeconfig else [])
    kubectl = _joined("kubectl", place, shlex.join(["--context", now.context] if now.context else []))
    helm_place = _joined(place, shlex.join(["--kube-context", now.context] if now.context else []))
    namespace, deployment = shlex.quote(now.namespace), shlex.quote(now.scheduler)
    scale = f"{kubectl} -n {namespace} scale deployment {deployment}"
    upgrade = _joined(f"helm upgrade vsched {CHART} -n vsched --reuse-values", helm_place)
    there = [
        (words.INSTALL_BESIDE,
         _joined(f"helm install vsched {CHART} -n vsched --create-namespace", helm_place, _values(now))),
        (words.SCALE_DOWN, f"{scale} --replicas=0"),
        (words.PLACE_PODS, f"{upgrade} --set schedulerNames={_names('vsched', *now.names)}"),
    ]  # fmt: skip
    config_map, key = now.policy
    if config_map:
        path = "{.data." + key.replace(".", "\\.") + "}"
        get = f"{kubectl} -n {namespace} get configmap {shlex.quote(config_map)} -o jsonpath={shlex.quote(path)}"
        there = [
            (words.SAVE_POLICY, f"{get} > {FILE}"),
            ("check it", words.check_file(FILE)),
            *there,
        ]
    back = [
        (words.LEAVE_PODS, f"{upgrade} --set schedulerNames={_names('vsched')}"),
        ("start Volcano's scheduler", f"{scale} --replicas={max(1, now.replicas)}"),
        (words.TAKE_AWAY, _joined("helm uninstall vsched -n vsched", helm_place)),
    ]
    return MigrationSteps(tuple(there), tuple(back))


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _names(*names: str) -> str:
    return shlex.quote("{" + ",".join(dict.fromkeys(names)) + "}")


def _values(now: MigrationState) -> str:
    """The values of the chart that differ from its own."""
    values = ["controllers.queues=false", "controllers.podGroups=false"] if now.controllers else []
    if now.namespace != VOLCANO_NAMESPACE:
        values.append(f"controllers.volcanoNamespace={now.namespace}")
    if now.default_queue not in ("", "default"):
        values.append(f"defaultQueue={now.default_queue}")
    found = f"--set {shlex.quote(','.join(values))}" if values else ""
    return _joined(found, f"--set-file policy.text={FILE}" if now.policy[0] else "")
