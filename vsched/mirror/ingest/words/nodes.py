"""What is wrong with nodes, their zones and HyperNodes, and with rules about nodes."""

from __future__ import annotations

# -- HyperNodes --------------------------------------------------------------------------------------------------------

SELECTORS = "exactMatch, regexMatch and labelMatch"
NO_TIER = "spec.tier: absent (expected zero or more)"


def not_one_selector(at: str, given: int, kinds: str) -> str:
    return f"{at}: {given} of {kinds} are set (expected exactly one)"


def empty_name(at: str, kind: str | None) -> str:
    return f"{at}.exactMatch.name: empty (expected the name of a {kind})"


def hypernode_by_name(at: str) -> str:
    return f"{at}: a member of type HyperNode is found by name alone (expected exactMatch)"


def empty_pattern(at: str) -> str:
    return f"{at}: empty (expected a regular expression)"


def bad_pattern(at: str, why: str) -> str:
    return f"{at}: {why} (expected a regular expression in the syntax of RE2)"


# -- nodes -------------------------------------------------------------------------------------------------------------


def annotation_not_whole(annotation: str, text: str) -> str:
    return f"metadata.annotations[{annotation}]: {text!r} (expected a whole number)"


# -- rules about nodes -------------------------------------------------------------------------------------------------


def unknown_operator(at: str, operator: str, expected: str) -> str:
    return f"{at}.operator: {operator!r} is unknown (expected {expected})"


def no_values(at: str, operator: str) -> str:
    return f"{at}.values: empty (expected at least one value for {operator})"


def not_one_integer(at: str, values: list[str], operator: str) -> str:
    return f"{at}.values: {values!r} (expected exactly one integer for {operator})"


def unknown_toleration_operator(at: str, operator: str) -> str:
    return f"{at}.operator: {operator!r} is unknown (expected Equal or Exists)"


def unknown_effect(at: str, effect: str | None) -> str:
    return f"{at}.effect: {effect!r} is unknown (expected NoSchedule, PreferNoSchedule or NoExecute)"


def no_topology_label(at: str) -> str:
    return f"{at}.topologyKey: empty (expected the name of a node label)"


def max_skew_below_one(at: str, skew: int) -> str:
    return f"{at}.maxSkew: {skew} (expected 1 or more)"


def min_domains_below_one(at: str, domains: int) -> str:
    return f"{at}.minDomains: {domains} (expected 1 or more)"


# -- zones of nodes ----------------------------------------------------------------------------------------------------


def too_many_zones(zones: int, most: int) -> str:
    return f"zones: {zones} of type Node ({most} are read at most)"


TWO_ZONES_OF_ONE_NUMBER = "zones: two of type Node have one number"


def unknown_topology_policy(word: str) -> str:
    return f"topologyPolicies: {word!r} is unknown (expected such as SingleNUMANodeContainerLevel)"


def no_zone_number(at: str, name: str) -> str:
    return f"{at}.name: {name!r} (expected a number at its end, such as node-0)"


def no_cpu_number(name: str) -> str:
    return f"spec.cpuDetail: {name!r} (expected the number of a cpu)"


def too_many_numa_nodes(most: int) -> str:
    return f"spec.cpuDetail: more than {most} NUMA nodes"


def no_cpu_numbers(at: str, part: str) -> str:
    return f"{at}: {part!r} (expected numbers of cpus, such as 0-3,8)"


def too_many_cpus(at: str, part: str, most: int) -> str:
    return f"{at}: {part!r} names more than {most:,} cpus"
