"""What is wrong with a plugin's arguments in the policy: the argument, what it says, and what was expected."""

from __future__ import annotations

from collections.abc import Iterable

CACHE_INERT = "what can be remembered is remembered anyway"
"""Why ``predicate.CacheEnable`` has no effect."""


def below_zero(name: str, text: str) -> str:
    """An amount of a mix of pods."""
    return f"{name}: {text!r} is below zero (expected zero or more)"


# -- deviceshare --------------------------------------------------------------------------------------------------

MIND_CLUSTER = "deviceshare.AscendMindClusterVNPUEnable: it is not supported (expected false or nothing)"
SEVERAL_KINDS = (
    "deviceshare.GPUSharingEnable, deviceshare.GPUNumberEnable, deviceshare.VGPUEnable: "
    "several are true (expected one of them at most)"
)
NO_GEOMETRIES = (
    "deviceshare.KnownGeometriesCMName, deviceshare.KnownGeometriesCMNamespace: one is empty "
    "(expected a ConfigMap and its namespace)"
)
RULES_WITHOUT_VGPU = "deviceshare.GPUExclusiveRules: it needs deviceshare.VGPUEnable: true"
RULE_WITHOUT_LABELS = "deviceshare.GPUExclusiveRules: a rule has no labels (expected some)"


def unknown_schedule_policy(policy: str) -> str:
    """Neither of the two."""
    return f"deviceshare.SchedulePolicy: {policy!r} is unknown (expected binpack or spread)"


# -- evictioncost -------------------------------------------------------------------------------------------------


def negative_weight(resource: str, weight: float) -> str:
    """A weight that prefers victims which lose more."""
    return f"resourceWeights.{resource}: expected a number of at least 0, got {weight}"


# -- extender -----------------------------------------------------------------------------------------------------

NO_URL_PREFIX = "extender.urlPrefix: missing; expected the http or https address that verbs belong to"


def bad_url_prefix(text: str) -> str:
    """No address."""
    return f"extender.urlPrefix: expected http(s)://host[:port][/path], such as http://127.0.0.1:8080, got {text!r}"


# -- network-topology-aware ---------------------------------------------------------------------------------------

TIERS_FALL = "hypernode.labels: tiers have to rise from each label to the next (closest first)"
LABEL_TWICE = "hypernode.labels: a key is there twice (expected each label once)"


def label_without_key(position: int) -> str:
    """An entry that names no label."""
    return f"hypernode.labels: entry {position} has no key (expected the key of a node label)"


def tier_below_zero(tier: int) -> str:
    """The lowest tier of the entries."""
    return f"hypernode.labels: tier {tier} is below zero (expected zero or more)"


# -- predicates ---------------------------------------------------------------------------------------------------


def utilizations_fall(points: Iterable[int]) -> str:
    """A curve whose points are not in order."""
    return (
        f"volumebinding.shape: the utilizations are {', '.join(map(str, points))} "
        "(expected each to be greater than the one before)"
    )


# -- rescheduling -------------------------------------------------------------------------------------------------


def no_metrics_period(text: str) -> str:
    """No length of time."""
    return f"metricsPeriod: expected a length of time such as 5m or 1h, got {text!r}"


def low_and_high(strategy: int, resource: str, low: float, high: float) -> str:
    """A threshold above its target."""
    return (
        f"strategies: [{strategy}].params: thresholds.{resource} is {low:g}, above targetThresholds.{resource} with"
        f" {high:g}; a node would be low and high at once"
    )


# -- resource-strategy-fit ----------------------------------------------------------------------------------------


def star_inside(pattern: str) -> str:
    """A star before the end of a name."""
    return f"resources.{pattern}: expected a name, or its beginning and one star after it"


# -- usage --------------------------------------------------------------------------------------------------------

_PERIOD = "expected a number and s, m or h, such as 5m"


def no_period() -> str:
    """What averages are taken over is no period."""
    return f"usage.period: {_PERIOD}"


def no_threshold(name: str) -> str:
    """A name that is none of a threshold."""
    return f"thresholds.{name}: expected cpu, mem, CPUUsageAvg.<period> or MEMUsageAvg.<period>"


def threshold_without_period(name: str) -> str:
    """The name of a threshold whose end is no period."""
    return f"thresholds.{name}: {_PERIOD} at the end"


def threshold_twice(name: str, resource: str, period: str) -> str:
    """Two thresholds of one thing."""
    return f"thresholds.{name}: the threshold of {resource} over {period} is given twice"


def estimate_below_zero(name: str) -> str:
    """An amount of pods that ask for nothing."""
    return f"estimator.{name}: expected zero or more"


# -- usage-history ------------------------------------------------------------------------------------------------


def window_out_of_range(seconds: float, most_hours: int) -> str:
    """A time of which nothing is known."""
    return f"window: {seconds:g}s (expected more than 0 and at most {most_hours}h)"
