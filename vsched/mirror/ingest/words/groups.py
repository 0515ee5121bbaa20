"""What is wrong with groups of pods: PodGroups, queues, gangs, and the tables of workloads."""

from __future__ import annotations

# -- annotations of queues and PodGroups -------------------------------------------------------------------------------

NO_EFFECT = "not supported yet: it has no effect"
PODS_OR_PERCENTAGE = "a number of pods or a percentage, such as 2 or 50%"


def no_amounts_by_group(where: str) -> str:
    return f'{where} (expected amounts by node group, such as {{"g1": {{"cpu": 8}}}})'


def no_node_for_the_queue(why: str) -> str:
    return f"{why}: nodegroup gives the queue no node"


WEIGHTS = 'weights of resources, such as {"cpu": 1}'
LENGTH_OF_TIME = "a length of time, such as 0s,"
LENGTH_ABOVE_ZERO = "a length of time above zero, such as"


# -- buckets and consumers ---------------------------------------------------------------------------------------------

DIVIDED_RESOURCES = "compute resources, limits of them, pods, or storage"


def cannot_be_divided(at: str, name: str, expected: str) -> str:
    return f"{at}.{name}: cannot be divided (expected {expected})"


def two_amounts(
    at: str, name: str, amount: str | int | float, other: str, other_amount: str | int | float, resource: str
) -> str:
    return f"{at}.{name}: {amount} differs from {other}: {other_amount} (expected one amount of {resource})"


def bad_generation(generation: str) -> str:
    return f"metadata.generation: {generation} (expected a 64-bit number)"


def bad_parent(parent: str) -> str:
    return f"spec.parent: {parent} is not a name (expected the name of a Bucket: a-z, 0-9, '-' and '.')"


# -- network topology --------------------------------------------------------------------------------------------------


def tier_by_name_and_number(at: str) -> str:
    return f"{at}.highestTierName: given besides highestTierAllowed (expected one of the two)"


def unknown_mode(annotation: str, mode: str) -> str:
    return f"metadata.annotations[{annotation}]: {mode!r} (expected hard or soft): taken for hard"


def unknown_tier(annotation: str, tier: str) -> str:
    return f"metadata.annotations[{annotation}]: {tier!r} (expected a whole number): ignored"


def no_label_key(at: str, position: int) -> str:
    return f"{at}.matchLabelKeys[{position}]: empty (expected the key of a label)"


# -- roles -------------------------------------------------------------------------------------------------------------


def too_many_roles(roles: int, most: int) -> str:
    return f"{roles} roles (expected at most {most})"


def no_gang_flag(annotation: str, text: str) -> str:
    return f"metadata.annotations[{annotation}]: {text!r} (expected true or false): ignored"


def item_without_name(path: str, name: str) -> str:
    return f"{path}: an item without {name} (expected its name)"


def replicas_of(role: str) -> str:
    return f"replicas of {role}"


def minimum_of(role: str) -> str:
    return f"minimum of {role}"


ROLE_NAME = "the name of a role"


def no_count(path: str, text: str, what: str) -> str:
    return f"{path}: {text!r} as the {what} (expected a whole number, zero or more)"


# -- pods without a PodGroup -------------------------------------------------------------------------------------------


def no_queue_name(annotation: str, letters: int) -> str:
    return f"metadata.annotations[{annotation}]: {letters:,} letters are no name: ignored"


def minimum_below_one(annotation: str, minimum: int) -> str:
    return f"metadata.annotations[{annotation}]: {minimum} (expected 1 or more)"


NUMBER_OF_JOBS = "a number of jobs, such as 4"


# -- Kubernetes' own PodGroups -----------------------------------------------------------------------------------------


def basic_or_gang(at: str, given: str) -> str:
    return f"{at}: {given} (expected basic or gang)"


def zero_of_gang(at: str, field: str) -> str:
    return f"{at}.gang.{field}: 0 (expected 1 or more)"


def not_one_topology_key(keys: int) -> str:
    return f"spec.schedulingConstraints.topology: {keys} keys (expected one)"


def no_topology_key(at: str) -> str:
    return f"{at}: missing (expected the key of a node label)"


def single_or_all(at: str, word: object) -> str:
    return f"{at}: {word!r} (expected single or all)"


def bad_priority(priority: int) -> str:
    return f"spec.priority: {priority} (expected a 32-bit integer)"


# -- queues ------------------------------------------------------------------------------------------------------------


def guarantee_above_capability(resource: str, amount: str, most: str) -> str:
    return (
        f"spec.guarantee.resource[{resource}]: {amount} (expected {most} at most, as in spec.capability): what "
        "is beyond stays idle"
    )


# -- affinity of roles -------------------------------------------------------------------------------------------------

TASK_TOPOLOGY_PASSED_OVER = "passed over, and with it all annotations task-topology-* of the PodGroup"


def not_one_list(at: str, lists: int) -> str:
    return f"{at}: {lists} lists of roles (expected one, such as ps,worker)"


def no_affinity_of_roles(at: str) -> str:
    return f"{at}: it has no effect without affinity or anti-affinity of roles: ignored"


def more_roles_than(at: str, most: int) -> str:
    return f"{at}: more than {most} roles"


def no_groups_of_roles(at: str, text: str) -> str:
    return f"{at}: {text!r} (expected groups of roles, such as ps,worker;evaluator)"


def no_names_of_roles(at: str, text: str) -> str:
    return f"{at}: {text!r} (expected names of roles between the commas)"


def letters_are_no_role(at: str, letters: int) -> str:
    return f"{at}: {letters:,} letters are no name"


def role_twice(at: str, role: str) -> str:
    return f"{at}: role {role!r} is in one group twice"


# -- tables of workloads -----------------------------------------------------------------------------------------------


def kind_twice(at: str, kind: str) -> str:
    return f"{at}: {kind} is there twice (expected one entry for each kind)"


def no_api_versions(at: str) -> str:
    return f"{at}.apiVersions: empty (expected at least one, as example.com/v1)"


def bad_api_version(at: str, position: int, version: str) -> str:
    return f"{at}.apiVersions[{position}]: {version!r} (expected GROUP/VERSION, as example.com/v1)"


def api_version_of_another_group(at: str, position: int, version: str, group: str) -> str:
    return f"{at}.apiVersions[{position}]: {version!r} is of another group (expected {group})"


def bad_kind(at: str, kind: str) -> str:
    return f"{at}.kind: {kind!r} (expected the name of a kind, as RayCluster)"


def bad_plural(at: str, plural: str) -> str:
    return f"{at}.plural: {plural!r} (expected the name in URLs, as rayclusters)"


def kind_of_pods(at: str) -> str:
    return f"{at}.kind: Pod (expected a kind that makes pods)"


def neither_name_nor_each(at: str, position: int) -> str:
    return f"{at}.roles[{position}]: neither name nor each (expected one of them)"


def both_name_and_each(at: str, position: int) -> str:
    return f"{at}.roles[{position}]: both name and each (expected one of them, and nameFrom with each)"


def bad_split(at: str, position: int) -> str:
    return f"{at}.split[{position}]: expected either labels or pod: true"


def label_of_another(at: str, kind: str, label: str, other: str) -> str:
    return f"{at}: {kind}.label: {label} is that of {other} already"
