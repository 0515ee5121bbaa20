"""What ``vsched plan`` says of the objects that it plans with."""

from __future__ import annotations

# -- nodes that are cordoned, go, or come ------------------------------------------------------------------------------


def cordoned(node: str, pods: str) -> str:
    return f"{node} is cordoned: {pods}"


def drain_would_wait(budgets: str, node: str) -> str:
    return f"{budgets}: allows fewer evictions than {node} has pods, so kubectl drain would wait"


def gone(node: str, pods: str) -> str:
    return f"{node} is gone: {pods}"


def without_daemons(pods: str) -> str:
    return f", but without {pods} of DaemonSets that would come"


def new_nodes(nodes: str, like: str, without: str) -> str:
    return f"{nodes} like {like}: same labels, taints and devices, open for pods{without}"


def lists_others(like: str, new: str, hypernodes: str) -> str:
    return f"HyperNodes that list {like}, but would not find {new}: {hypernodes}"


CREATED_AGAIN = "created again by controllers"
GONE_FOR_GOOD = "gone for good"
LEFT_THERE = "of DaemonSets or the node itself left there"
MOVED_ELSEWHERE = "of other schedulers moved elsewhere"
NO_PODS = "it had no pods"


# -- what is left out --------------------------------------------------------------------------------------------------


def extender_does_not_answer(why: str) -> str:
    return f"vsched: the extender does not answer: {why}"


def pods_left_out(pods: str, scheduler: str, names: str) -> str:
    return f"{pods} of scheduler {scheduler} left out ({names})"


def other_scheduler(which: str, names: str) -> str:
    return f"vsched: {which}: expected scheduler {names}; --scheduler-name says otherwise"


def hypernodes_left_out(hypernodes: str, names: str, why: str) -> str:
    return f"vsched: {hypernodes} left out ({names}): {why}"


# -- what controllers make ---------------------------------------------------------------------------------------------


def too_many_pods(whose: str, pods: int, most: int) -> str:
    return f"{whose}: {pods} pods (expected {most} at most)"


# -- objects that are submitted ----------------------------------------------------------------------------------------


def no_namespace(name: str) -> str:
    return f"namespace {name} does not exist yet: create it first"


def nothing_in_it(file: str) -> str:
    return f"{file}: nothing in it (expected Kubernetes objects)"


def no_name(origin: object, kind: str) -> str:
    return f"{origin}: {kind}: metadata.name: missing (expected text)"


def no_text(origin: object, kind: str, where: str, text: object) -> str:
    return f"{origin}: {kind}: {where}: {text!r} (expected text)"


def not_served(kind: str, version: str) -> str:
    return f'no kind "{kind}" is served in version "{version}"'


def no_pods_here(origin: object, kind: str) -> str:
    return f"{origin}: {kind}: it gets no pods here"


def stays(kind: str, name: str) -> str:
    return f"{kind} {name} exists already and stays as it is"


def pod_exists(name: str) -> str:
    return f'pods "{name}" already exists'


def object_exists(plural: str, group: str, name: str) -> str:
    return f'{plural}.{group} "{name}" already exists'


def spec_replaced(kind: str, name: str) -> str:
    return f"{kind} {name} exists already: its spec would be replaced"


def seem_to_exist(origin: object, pods: str, kind: str, name: str) -> str:
    return f"{origin}: {pods} of {kind} {name} seem to exist already: these are added"


def left_to(origin: object, pods: str, schedulers: str) -> str:
    return f"{origin}: {pods} left to scheduler {schedulers} (--scheduler-name NAME plans them)"


def statefulset_starts(origin: object, name: str) -> str:
    return f"{origin}: StatefulSet {name} starts its pods one after another; all are planned"


def no_more_pods(origin: object, kind: str, name: str, pods: int, why: str) -> str:
    return f"{origin}: {kind} {name}: no more than {pods} of its pods: {why}"


def belongs_to_existing(origin: object, kind: str, name: str, tree: str) -> str:
    return (
        f"{origin}: {kind} {name}: it would belong to {tree}, which exists already (expected all groups and pods of a "
        "tree together)"
    )


def no_storage_class(origin: object, claim: str) -> str:
    return (
        f"{origin}: PersistentVolumeClaim {claim} names no storage class, and the cluster's default is not known here"
    )


def no_template(origin: object, template: str) -> str:
    return f"{origin}: ResourceClaimTemplate {template} is not submitted with it: its claims are not created"


# -- workloads ---------------------------------------------------------------------------------------------------------

FROM_A_CLUSTER = "it comes from a cluster, but none of its pods is among the manifests"
NO_PODS_HERE = "it gets no pods here"


def no_more(pods: str, why: str) -> str:
    return f"no more than {pods} of it: {why}"


# -- vcjobs ------------------------------------------------------------------------------------------------------------


def tasks_without_pods(tasks: str, names: str) -> str:
    return f"{tasks} without pods yet, as others come first: {names}"


# -- objects of operators ----------------------------------------------------------------------------------------------


def not_applied(path: str) -> str:
    return f"{path}: it is not applied to its pods here"


KIND_UNKNOWN = "its kind is not in the table of workload kinds: it gets no pods"
SUSPENDED = "it is suspended or has no replicas: it gets no pods"
NUMBER_OF_COPIES = "number of copies"
SEPARATE_GANGS = "its roles are separate gangs that may start one after another; all are planned"


def cannot_be_planned(pods: str, role: str, where: str) -> str:
    return f"{pods} of {role} cannot be planned for: there is no pod template at {where}"


def not_among_manifests(kind: object, name: object, made: str) -> str:
    return f"its {kind} {name} is not among the manifests: it gets no {made}"


def missing(field: str, made: str) -> str:
    return f"{field}: missing: it gets no {made}"


NUMBER_OF_PODS = "number of pods"


def no_factor(value: object) -> str:
    return f"{value!r} as the factor of the memory overhead (expected a number)"


def no_jvm_memory(path: str, value: str) -> str:
    return f"{path}: {value!r} (expected the memory of a JVM, as 512m or 4g)"
