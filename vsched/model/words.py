"""What is said of amounts, of recordings and of the history that cannot be read, and of nodes that are asked for."""

from __future__ import annotations

# -- amounts -----------------------------------------------------------------------------------------------------------


def not_a_quantity(text: str) -> str:
    return f"{text!r} is not a quantity (expected a number with an optional suffix, such as 500m, 2, 1.5Gi)"


def too_many_unknown_resources(name: str, most: int) -> str:
    return f"{name}: no node offers it, and {most} others that none offers are asked for (expected fewer)"


def negative(name: str, text: str | float) -> str:
    return f"{name}: {text!r} is negative (expected zero or more)"


# -- schedules ---------------------------------------------------------------------------------------------------------


def shorter_than_a_second(schedule: str) -> str:
    return f"{schedule} is shorter than a second"


def not_a_duration(schedule: str) -> str:
    return f"failed to parse duration {schedule}"


def not_5_fields(number: int, fields: list[str]) -> str:
    return f"expected exactly 5 fields, found {number}: {fields}"


def not_a_schedule(schedule: str) -> str:
    return f"failed to parse {schedule}"


def never_comes(schedule: str) -> str:
    return f"{schedule} never comes"


# -- budgets -----------------------------------------------------------------------------------------------------------


def would_hold_too_much(who: str, most: str, made: str) -> str:
    return f"{who} may hold {most}; this would make {made}"


# -- recordings: the file, then its parts ------------------------------------------------------------------------------


def pool_lacks_devices(pool: str, driver: str, announced: int, there: int) -> str:
    return f"pool {pool} of {driver}: {announced} devices announced, and {there} are there"


def claims_point_to(place: int) -> str:
    return f"claims point to {place} (expected 0 or more)"


VSCHED_DUMP_WRITES_THEM = " (vsched dump writes them)"


def not_a_recording(told: str) -> str:
    return f"is not a recording{told}"


def not_a_recording_of_kind(kind: str) -> str:
    return f"is not a recording (expected JSON with kind {kind!r}, as vsched dump writes it)"


def other_format(format: int, expected: int) -> str:
    return f"is a recording of format {format}, and this vsched reads format {expected}"


def broken(why: str) -> str:
    return f"is a recording that is broken: {why}"


def parts_do_not_belong_together(why: str) -> str:
    return f"is a recording that is broken: its parts do not belong together ({why})"


def not_gzip(why: object) -> str:
    return f"is not a recording: not gzip after all: {why}"


def unpacks_to_more(mib: int) -> str:
    return f"is not a recording: its gzip unpacks to more than {mib} MiB"


CUT_OFF_GZIP = "is a recording that is cut off: the end of its gzip is missing"
CUT_OFF = "it is cut off"

JSON_IS_MALFORMED = "JSON is malformed"
INPUT_WAS_TRUNCATED = "Input data was truncated"
"""What msgspec says."""


def amounts_of_other_resources(most: int) -> str:
    return f"amounts of nodes are not of the same resources (expected 3 to {most} of them)"


def not_an_amount_each(name: str, nodes: int) -> str:
    return f"nodes: {name}: expected an amount for each of {nodes} nodes"


YOUNG_PODS = "usage: young pods: expected a row, a shape and a start of each"
YOUNG_POD_OF_NO_SHAPE = "usage: young pods: one is on no node, or of no shape"


def not_a_figure_each(nodes: int) -> str:
    return f"usage: expected a figure for each of {nodes} nodes"


NOT_A_COUNT_EACH = "placed pods: expected a count for each node"


def not_its_key(name: str, key: str) -> str:
    return f"report: {name}: {key!r} is not the key of what it leads to"


VERDICT_ABOUT_NO_POD = "a verdict is about no pod"


def too_many_strays(strays: int, jobs: int) -> str:
    return f"{strays} of {jobs} jobs are strays"


def usage_history(why: Exception) -> str:
    return f"usage history: {why}"


def no_job_among(job: object, name: str) -> str:
    return f"{job!r} is among the {name} jobs, and is no job"


def sums_of_other_resources(width: int) -> str:
    return f"sums of nodes are not of the {width} resources that nodes have"


def no_such_column(column: int, width: int) -> str:
    return f"a request has a column {column}, and there are {width} resources"


def too_many_rows(rows: int, most: int) -> str:
    return f"a piece of a table has {rows} rows (expected up to {most})"


def record_has_no_field(record: str, name: str) -> str:
    return f"{record} has no field {name!r} here (was it made by a newer vsched?)"


def points_to(record: str, column: str, place: object) -> str:
    return f"{record}.{column} points to {place} (expected 0 or more)"


POINTS_TO_NO_VALUE = "a column points to values that it does not have"


def too_few_values(values: int, rows: int) -> str:
    return f"a column has {values} values where {rows} were announced"


# -- the history of usage ----------------------------------------------------------------------------------------------

CUT_OFF_OR_TOO_LARGE = "it is cut off, or too large"


def other_version(version: int, expected: int) -> str:
    return f"its format has version {version} (expected {expected})"


def cannot_be_decompressed(why: object) -> str:
    return f"it cannot be decompressed: {why}"


def cannot_be_read(why: Exception) -> str:
    return f"it cannot be read: {why}"


NO_CLUSTER = "the first holder is not the cluster"
TWICE = "a holder or a resource is there twice"
NOT_ABOVE_0 = "a half-life or a window is not above 0"
NO_TIMES = "its times are no times"
NOT_FINITE = "a sum is not a finite number of at least 0"
SUMS_NOT_OF_ALL_HOURS = "its sums are not of all holders, resources and hours"
SUMS_NOT_OF_ALL = "decayed sums are not of all holders and resources"


def sums_of_an_hour(sums: int, row: int, rows: int) -> str:
    return f"an hour has {sums} sums for row {row}, of {rows} rows"


# -- what a message is made of -----------------------------------------------------------------------------------------

NOT_HAD = "what its gang claims could not be had: "
WOULD_START = "; would start with "


# -- nodes that are asked for ------------------------------------------------------------------------------------------


def nodes_are_asked_for(request: str, says: str) -> str:
    return f"nodes are asked for by {request}{says}"


def provisioned(request: str) -> str:
    return f"{request} is provisioned, and its nodes are on their way"


def asked_for_again(request: str, says: str, again: str) -> str:
    return f"{request} failed{says}; nodes are asked for again {again}"


def given_up(attempts: int, request: str, says: str) -> str:
    failed = f"{attempts} ProvisioningRequests failed" if attempts > 1 else "its ProvisioningRequest failed"
    return f"{failed}, the last was {request}{says}; delete it to have nodes asked for again"


# -- what may be left out ----------------------------------------------------------------------------------------------

DISKS = "disks that pods name without a claim, and that one node has at a time"
OLD_PODGROUPS = "PodGroups as Kubernetes 1.35 had them (spec.workloadRef)"
LOST_PRIORITY_CLASSES = "PriorityClasses that do not exist"
OTHER_PODS = "the other pods"
