"""What is said of pods and groups because of other objects."""

from __future__ import annotations

# -- pods for other schedulers -----------------------------------------------------------------------------------------


def for_another_scheduler(named: str, scheduler: str) -> str:
    return f"{named}: it is for another scheduler: spec.schedulerName is {scheduler}"


# -- claims and priorities ---------------------------------------------------------------------------------------------


def there_more_than_once(kind: str, key: str) -> str:
    return f"{kind} {key} is there more than once"


def queue_without_priority(whose: str, lost: str) -> str:
    return f"{whose}{lost}: the queue has priority 0"


def priority_of_queue_holds(whose: str, lost: str) -> str:
    return f"{whose}{lost}: its queue's priority holds"


def its_priority_is(whose: str, lost: str, priority: int) -> str:
    return f"{whose}{lost}: its priority is {priority}"


# -- gangs whose pods are for others -----------------------------------------------------------------------------------


def one_scheduler(scheduler: str) -> str:
    return f"scheduler {scheduler}"


def other_schedulers(schedulers: str) -> str:
    return f"other schedulers ({schedulers})"


def daemon_serves(schedulers: str) -> str:
    return f" (this daemon serves {schedulers})"


def pods_for_others(pods: int, whose: str, served: str) -> str:
    return f"{pods} of its pods {'is' if pods == 1 else 'are'} for {whose}{served}"


# -- Kubernetes' own PodGroups -----------------------------------------------------------------------------------------


SAME_SCHEDULER = "all pods in a single pod group should have the same .spec.schedulerName set"
"""The words of kube-scheduler."""


def priority_of_pods_differs(priority: int, others: str) -> str:
    return f"spec.priority is {priority}, and pods have another one ({others}): all have to be equal"


TAKES_NO_NEW_PODS = "it is being deleted, and takes no new pods"


def no_parent_group(name: str) -> str:
    return f"spec.parentCompositePodGroupName: CompositePodGroup {name} does not exist"


def group_in_a_cycle(parent: str) -> str:
    return f"spec.parentCompositePodGroupName: {parent} is above and below it (a cycle)"


def too_many_levels(most: int) -> str:
    return f"the tree of groups has more than {most} levels"


def groups_of_several_workloads(workloads: str) -> str:
    return f"its groups belong to several Workloads: {workloads}"


# -- owners ------------------------------------------------------------------------------------------------------------


def which_label_names(label: str) -> str:
    return f"which its label {label} names"


OWNER_OF_IT = "an owner of it"


def waits_for_owner(kind: str, name: str, how: str) -> str:
    return f"it waits for {kind} {name}, {how}, which has not been seen yet"
