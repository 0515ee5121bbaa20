"""What is wrong with a vcjob: all that Volcano's webhooks refuse, one line each with the field.

A webhook keeps such a job out. Where none is installed, the controller says the same and makes nothing of the job.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from vsched.api import batch
from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.plugins import PLUGINS, plugins_of
from vsched.controllers.vcjobs.plugins.mpi import Mpi
from vsched.controllers.vcjobs.podgroup import podgroup_spec
from vsched.controllers.vcjobs.spec import JobAction, JobEvent, VcJob
from vsched.controllers.vcjobs.template import template_problem
from vsched.errors import BadObject
from vsched.model.amounts.durations import parse_duration
from vsched.model.names import is_subdomain

EVENTS = frozenset(JobEvent) - {JobEvent.POD_RUNNING, JobEvent.OUT_OF_SYNC, JobEvent.COMMAND_ISSUED}
"""The events that a policy may name. The others are for the controller alone."""
ACTIONS = frozenset(JobAction) - {JobAction.SYNC_JOB, JobAction.ENQUEUE_JOB}
"""The actions that a policy may name."""
_TOPOLOGY_POLICIES = ("", "none", "best-effort", "restricted", "single-numa-node")
_ITERATIONS = ("", "any", "all")
_MODES = (None, "", "hard", "soft")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST = 63
PODS_MAX = 100_000
"""The most pods of one vcjob; Kubernetes has the same limit for Jobs whose pods are numbered."""


def refusals(job: batch.VolcanoJob, read: VcJob) -> list[str]:
    """Why the job cannot be run as it is written; ``read`` is the same job with all defaults."""
    found = [*_of_job(job.spec, read)]
    if not read.tasks:
        return [*found, words.NO_TASKS]
    for index, task in enumerate(job.spec.tasks or ()):
        found += _of_task(f"spec.tasks[{index}]", task, read, index)
    found += _of_names(read)
    found += _of_dependencies(read)
    return found or [*_of_requests(read)]


def _of_job(spec: batch.VolcanoJobSpec, read: VcJob) -> Iterator[str]:
    yield from _least("spec.minAvailable", spec.min_available, 0)
    yield from _least("spec.maxRetry", spec.max_retry, 0)
    yield from _least("spec.minSuccess", spec.min_success, 1)
    yield from _least("spec.ttlSecondsAfterFinished", spec.ttl_seconds_after_finished, 0)
    if read.min_available > read.replicas:
        total = words.replicas_of_all_tasks(read.replicas)
        yield words.minimum_above_total(read.min_available, total)
    if read.replicas > PODS_MAX:
        yield words.too_many_pods(read.replicas, PODS_MAX)
    yield from _of_policies("spec.policies", spec.policies)
    yield from _of_volumes(spec.volumes or (), read.name)
    yield from _of_topology("spec.networkTopology", spec.network_topology)
    yield from _of_plugins(read)


def _of_task(path: str, task: batch.VolcanoTask, read: VcJob, index: int) -> Iterator[str]:
    with_defaults = read.tasks[index]
    yield from _least(f"{path}.replicas", task.replicas, 0)
    yield from _least(f"{path}.minAvailable", task.min_available, 0)
    yield from _least(f"{path}.maxRetry", task.max_retry, -1)
    if with_defaults.min_available > task.replicas >= 0:
        yield words.minimum_above_replicas(path, with_defaults.min_available, task.replicas)
    if not _is_label(with_defaults.name):
        yield words.bad_task_name(path, with_defaults.name, _LONGEST)
    longest = f"{read.name}-{with_defaults.name}-{max(task.replicas - 1, 0)}"
    if len(longest) > _LONGEST:
        yield words.long_pod_name(path, longest, len(longest), _LONGEST)
    problem = template_problem(with_defaults.template, f"{path}.template")
    if problem:
        yield problem
    yield from _one_of(f"{path}.topologyPolicy", task.topology_policy, _TOPOLOGY_POLICIES)
    if task.depends_on is not None:
        yield from _one_of(f"{path}.dependsOn.iteration", task.depends_on.iteration, _ITERATIONS)
    yield from _of_policies(f"{path}.policies", task.policies)
    if task.partition_policy is not None:
        yield from _of_partitions(f"{path}.partitionPolicy", task.partition_policy, task.replicas)


def _of_partitions(path: str, policy: batch.PartitionPolicy, replicas: int) -> Iterator[str]:
    yield from _least(f"{path}.totalPartitions", policy.total_partitions, 1)
    yield from _least(f"{path}.partitionSize", policy.partition_size, 1)
    yield from _least(f"{path}.minPartitions", policy.min_partitions, 0)
    total, size = policy.total_partitions, policy.partition_size
    if total * size != replicas:
        yield words.partitions_are_not_replicas(path, total, size, total * size, replicas)
    if policy.min_partitions > total:
        yield words.minimum_above_partitions(path, policy.min_partitions, total)
    yield from _of_topology(f"{path}.networkTopology", policy.network_topology)


def _of_topology(path: str, topology: batch.JobTopology | None) -> Iterator[str]:
    if topology is None:
        return
    yield from _one_of(f"{path}.mode", topology.mode, _MODES)
    if topology.highest_tier_allowed is not None and topology.highest_tier_name:
        yield words.both_tiers(path)


def _of_policies(path: str, policies: Sequence[batch.LifecyclePolicy] | None) -> Iterator[str]:
    events: Counter[str] = Counter()
    codes: Counter[int] = Counter()
    for index, policy in enumerate(policies or ()):
        where = f"{path}[{index}]"
        named = {*(policy.events or ()), policy.event} - {""}
        if named and policy.exit_code is not None:
            yield words.both_event_and_exit_code(where)
        if not named and policy.exit_code is None:
            yield words.neither_event_nor_exit_code(where)
        if policy.exit_code == 0:
            yield words.exit_code_0(where)
        for event in sorted(named - EVENTS):
            yield words.unknown_event(where, event, ", ".join(sorted(EVENTS)))
        if policy.action not in ACTIONS:
            yield words.unknown_policy_action(where, policy.action, ", ".join(sorted(ACTIONS)))
        yield from _of_timeout(f"{where}.timeout", policy.timeout)
        events.update(named)
        codes.update([] if policy.exit_code is None else [policy.exit_code])
    for what, number in [*events.items(), *codes.items()]:
        if number > 1:
            yield words.in_many_policies(path, "event" if isinstance(what, str) else "exitCode", what, number)
    if JobEvent.ANY in events and len(events) > 1:
        yield words.event_of_all(path)


def _of_timeout(path: str, text: str | None) -> Iterator[str]:
    seconds = 0.0 if text is None else parse_duration(text)
    if seconds is None or seconds < 0.0:
        yield words.no_duration(path, text)


def _of_volumes(volumes: Sequence[batch.JobVolume], job: str) -> Iterator[str]:
    paths: Counter[str] = Counter()
    for index, volume in enumerate(volumes):
        where = f"spec.volumes[{index}]"
        if not volume.mount_path:
            yield f"{where}.mountPath: missing"
        elif paths[volume.mount_path]:
            yield words.mount_path_twice(where, volume.mount_path)
        paths[volume.mount_path] += 1
        claim = bytes(volume.volume_claim) not in (b"", b"null")
        if not claim and not volume.volume_claim_name:
            yield words.no_volume_claim(where)
        # Volcano's controller writes the name of a claim that it has made into the spec.
        if claim and volume.volume_claim_name and not volume.volume_claim_name.startswith(f"{job}-pvc-"):
            yield words.two_volume_claims(where)
        if volume.volume_claim_name and not is_subdomain(volume.volume_claim_name):
            yield words.no_claim_name(where, volume.volume_claim_name)


def _of_plugins(read: VcJob) -> Iterator[str]:
    for name, _ in read.plugins:
        if name not in PLUGINS:
            yield f"spec.plugins: {name!r} (expected {', '.join(PLUGINS)})"
    for plugin in plugins_of(read):
        # Others can do without the task that they look for: a job with such a plugin runs, and is told.
        yield from plugin.problems(read) if plugin.name == Mpi.name else ()
        if plugin.hosts_max and read.replicas > plugin.hosts_max:
            yield words.too_many_hosts(plugin.name, read.replicas, plugin.hosts_max)


def _of_names(read: VcJob) -> Iterator[str]:
    for name, number in Counter(task.name for task in read.tasks).items():
        if number > 1:
            yield words.tasks_of_one_name(number, name)


def _of_dependencies(read: VcJob) -> Iterator[str]:
    names = {task.name for task in read.tasks}
    order: TopologicalSorter[str] = TopologicalSorter()
    for index, task in enumerate(read.tasks):
        for needed in task.dependency.tasks if task.dependency is not None else ():
            order.add(task.name, needed)
            if needed not in names:
                yield words.no_task_to_depend_on(index, needed)
    try:
        order.prepare()
    except CycleError as error:
        yield words.tasks_wait_for_each_other(" -> ".join(reversed(error.args[1])))


def _of_requests(read: VcJob) -> Iterator[str]:
    try:
        podgroup_spec(read, {})
    except BadObject as error:
        yield f"spec.tasks: {error}"


def _least(path: str, value: int | None, least: int) -> Iterator[str]:
    if value is not None and value < least:
        yield words.too_small(path, value, least)


def _one_of(path: str, value: str | None, expected: Sequence[str | None]) -> Iterator[str]:
    if value not in expected:
        yield f"{path}: {value!r} (expected {', '.join(name for name in expected if name)})"


def _is_label(name: str) -> bool:
    return len(name) <= _LONGEST and _LABEL.fullmatch(name) is not None
