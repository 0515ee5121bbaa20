"""What is said of vcjobs: what is wrong with them, and what becomes of them."""

from __future__ import annotations

# -- jobs that are refused ---------------------------------------------------------------------------------------------

NO_TASKS = "spec.tasks: none (expected at least one)"


def replicas_of_all_tasks(replicas: int) -> str:
    return f"the {replicas} replicas of all tasks"


def minimum_above_total(minimum: int, total: str) -> str:
    return f"spec.minAvailable: {minimum} is more than {total}"


def too_many_pods(pods: int, most: int) -> str:
    return f"spec.tasks: {pods:,} pods (expected {most:,} at most)"


def minimum_above_replicas(path: str, minimum: int, replicas: int) -> str:
    return f"{path}.minAvailable: {minimum} is more than replicas ({replicas})"


def bad_task_name(path: str, name: str, most: int) -> str:
    return f"{path}.name: {name!r} (expected at most {most} small letters, digits and '-')"


def long_pod_name(path: str, name: str, length: int, most: int) -> str:
    return f"{path}.name: the name of a pod, {name}, has {length} characters (expected at most {most})"


def partitions_are_not_replicas(path: str, partitions: int, size: int, pods: int, replicas: int) -> str:
    return f"{path}: {partitions} partitions of {size} pods are {pods} pods (expected replicas, {replicas})"


def minimum_above_partitions(path: str, minimum: int, partitions: int) -> str:
    return f"{path}.minPartitions: {minimum} is more than totalPartitions ({partitions})"


def both_tiers(path: str) -> str:
    return f"{path}: both highestTierAllowed and highestTierName (expected one of them)"


def both_event_and_exit_code(path: str) -> str:
    return f"{path}: both event and exitCode (expected one of them)"


def neither_event_nor_exit_code(path: str) -> str:
    return f"{path}: neither event nor exitCode"


def exit_code_0(path: str) -> str:
    return f"{path}.exitCode: 0 (expected the exit code of a failure)"


def unknown_event(path: str, event: object, events: str) -> str:
    return f"{path}.event: {event!r} (expected one of {events})"


def unknown_policy_action(path: str, action: str, actions: str) -> str:
    return f"{path}.action: {action!r} (expected one of {actions})"


def in_many_policies(path: str, what: str, value: object, policies: int) -> str:
    return f"{path}: {what} {value} is in {policies} policies"


def event_of_all(path: str) -> str:
    return f"{path}: event * means all others (expected no other event beside it)"


def no_duration(path: str, text: str | None) -> str:
    return f"{path}: {text!r} (expected a duration such as 10m)"


def mount_path_twice(path: str, mount: str) -> str:
    return f"{path}.mountPath: {mount} is there twice"


def no_volume_claim(path: str) -> str:
    return f"{path}: neither volumeClaim nor volumeClaimName"


def two_volume_claims(path: str) -> str:
    return f"{path}: both volumeClaim and volumeClaimName (expected one: a new claim, or one that is there)"


def no_claim_name(path: str, name: str) -> str:
    return f"{path}.volumeClaimName: {name!r} cannot be the name of a claim"


def too_many_hosts(plugin: str, pods: int, most: int) -> str:
    return f"spec.plugins[{plugin}]: {pods:,} pods to list (expected {most:,} at most)"


def tasks_of_one_name(tasks: int, name: str) -> str:
    return f"spec.tasks: {tasks} tasks are called {name}"


def no_task_to_depend_on(index: int, task: str) -> str:
    return f"spec.tasks[{index}].dependsOn.name: there is no task {task!r}"


def tasks_wait_for_each_other(tasks: str) -> str:
    return f"spec.tasks: tasks wait for each other: {tasks}"


def too_small(path: str, value: int, least: int) -> str:
    return f"{path}: {value} (expected {least} or more)"


# -- changes of jobs ---------------------------------------------------------------------------------------------------

ONLY_THESE_MAY_CHANGE = (
    "spec: only minAvailable, priorityClassName, tasks[*].replicas and tasks[*].minAvailable may be changed"
)


def tasks_added_or_removed(now: int, before: int) -> str:
    return f"spec.tasks: {now} (expected {before} as before: tasks can be neither added nor removed)"


def may_not_change(path: str, now: str, before: str) -> str:
    return f"{path}: {now} (expected {before} as before)"


def a_list_of(length: int) -> str:
    return f"a list of {length}"


UNTIL_RESTARTED = "until the whole job is restarted"


def podgroup_stays_in_queue(queue: str, until: str) -> str:
    return f"spec.queue: the PodGroup stays in queue {queue} {until}"


def podgroup_keeps_topology(until: str) -> str:
    return f"spec.networkTopology: the PodGroup keeps the old one {until}"


def only_for_new_pods(paths: str) -> str:
    return f"{paths}: the change applies only to pods created from now on"


# -- jobs that are not run ---------------------------------------------------------------------------------------------


def cannot_be_read(vcjob: str, why: str) -> str:
    return f"vcjob {vcjob} cannot be read, so it is not run: {why}"


def for_another_scheduler(vcjob: str, scheduler: str) -> str:
    return f"vcjob {vcjob} is for scheduler {scheduler}, which this daemon does not serve"


def cannot_be_run(vcjob: str, why: str) -> str:
    return f"vcjob {vcjob} cannot be run: {why}"


def not_managed_here(vcjob: str, why: str) -> str:
    return f"vcjob {vcjob} is not managed here: {why}"


def suspended(vcjob: str) -> str:
    return f"vcjob {vcjob} is Aborted (suspended): vsched job resume {vcjob} starts it again"


def has_no_podgroup(vcjob: str, phase: object, why: str) -> str:
    return f"vcjob {vcjob} is {phase} and has no PodGroup{why}"


def vcjob_not_managed(key: str) -> str:
    return f"vcjob not managed: {key!a}"


def podgroup_waits(why: str) -> str:
    return f"its PodGroup waits: {why}"


def no_longer_managed(scheduler: str) -> str:
    return f"spec.schedulerName: vsched no longer manages the job, for scheduler {scheduler}"


def no_more_pods(why: str) -> str:
    return f"no more pods are created until this is fixed: {why}"


def no_job(name: str, *, any_more: bool = False) -> str:
    return f"Job {name} does not exist{' any more' if any_more else ''}"


# -- plugins -----------------------------------------------------------------------------------------------------------


def no_plugin(name: str, expected: str) -> str:
    return f"spec.plugins: no plugin {name!r} (expected {expected})"


def no_task_for_plugin(plugin: str, task: str, role: str) -> str:
    return f"spec.plugins[{plugin}]: no task {task!r} (expected one of this name, or --{role} to name another)"


def needs_key_pair(secret: str) -> str:
    return f"the Secret {secret} needs a new key pair"


# -- what happened to pods ---------------------------------------------------------------------------------------------

PODGROUP_LOST_PODS = "the PodGroup has lost pods: its phase is Unknown"


def pod_was_deleted(event: str, pod: str) -> str:
    return f"{event}: pod {pod} was deleted"


def with_exit_code(code: int) -> str:
    return f" with exit code {code}"


def pod_is_pending(event: str, pod: str) -> str:
    return f"{event}: pod {pod} is pending"


def task_has_succeeded(event: str, task: str) -> str:
    return f"{event}: all pods of task {task} have succeeded"


def containers_have_restarted(event: str, task: str, restarts: int) -> str:
    return f"{event}: containers of task {task} have restarted {restarts} times"


def more_than_max_retry(why: str, most: int) -> str:
    return f"{why}, more than maxRetry {most}"


def no_volume_claim_of(name: str, namespace: str) -> str:
    return f"PersistentVolumeClaim {name} does not exist in namespace {namespace}"


# -- Volcano's own controllers -----------------------------------------------------------------------------------------


def not_yet_looked(namespace: str) -> str:
    return f"not yet looked for Volcano's controllers in namespace {namespace}"


def rival_pod(pod: str) -> str:
    return f"Volcano's controllers look after vcjobs: they run in pod {pod}"


def rival_lease(holder: str, lease: str) -> str:
    return f"Volcano's controllers look after vcjobs: {holder} holds the Lease {lease}"


VCJOBS_NOT_MANAGED = "vcjobs are not managed here"
VCJOBS_MANAGED_AGAIN = "vcjobs are managed here again"
RIVALS_GONE = "Volcano's controllers are gone"
LEASE_CANNOT_BE_READ = "Volcano's Lease cannot be read"


# -- how jobs end ------------------------------------------------------------------------------------------------------


def tasks_cannot_start(tasks: str) -> str:
    return f"task {tasks} cannot start: what it depends on has failed"


def too_few_left(pods: str) -> str:
    return f"{pods} failed: too few are left for the gang, and none of them has a node"


def of_task_which_needs(task: str, minimum: int) -> str:
    return f"of task {task}, which needs {minimum}"


def minimum_to_succeed(counts: str, minimum: int) -> str:
    return f"{counts}; minSuccess is {minimum}"


def minimum_to_run(counts: str, minimum: int) -> str:
    return f"{counts}; minAvailable is {minimum}"


def retry_of(retry: int, most: int, why: str) -> str:
    return f"retry {retry} of at most {most}{why}"


def no_effect_in_phase(action: str, phase: str) -> str:
    return f"{action} has no effect on a job in phase {phase}"


# -- pods that cannot be made ------------------------------------------------------------------------------------------


def no_containers(path: str) -> str:
    return f"{path}.spec.containers: none (expected at least one)"


def more_not_created(more: int) -> str:
    return f" ({more} more could not be created)"


OBJECT_OF_ANOTHER = "an object of this name exists that the job does not own"
