"""What ``vsched plan`` says of its flags and of the edits that they ask for."""

from __future__ import annotations

# -- flags -------------------------------------------------------------------------------------------------------------

LIVE_OR_FILE = "give --live for a running cluster, or --from FILE, not both"
NO_FILE = "Missing option '-f' / '--filename', or --live for a running cluster."


def for_running_clusters(flags: str) -> str:
    return f"{flags}: for running clusters (expected --live, or --from DUMP, with it)"


def not_with_live(flags: str) -> str:
    return f"{flags}: not with --live (expected --submit FILE for new objects)"


def calling_extender(where: str) -> str:
    return f"vsched: calling the extender at {where}, as a session would"


def no_such_nodes(names: str) -> str:
    return f"vsched: --usage: no such node: {names}"


def no_moment(text: str) -> str:
    return f"--now: {text!r} is not a time (expected RFC 3339, such as 2026-01-31T12:00:00Z)"


def no_time_zone(text: str) -> str:
    return f"--now: {text!r} has no time zone (expected RFC 3339, such as 2026-01-31T12:00:00Z)"


# -- edits -------------------------------------------------------------------------------------------------------------


def one_like_for_each(adds: int, likes: int) -> str:
    return f"--add-nodes and --like: {adds} and {likes} (expected one --like NODE for each)"


STDIN_ONCE = "--submit: standard input can be read once only"


# -- fields that are set -----------------------------------------------------------------------------------------------

EXPECTED_SETTING = "expected queue/NAME.FIELD=VALUE, podgroup/NAMESPACE/NAME.FIELD=VALUE or node/NAME.FIELD=VALUE"
EXPECTED_WHOLE_NUMBER = "expected a whole number"
EXPECTED_TRUE_OR_FALSE = "expected true or false"


def only_records(setting: str) -> str:
    return (
        f"{setting}: this PodGroup only records what its pods and their workload say (expected one that somebody has "
        "made)"
    )


def cannot_be_set(asked: str, word: str, instead: str) -> str:
    return f"{asked}: {word!r} cannot be set {instead}"


def no_resource(name: str) -> str:
    return f"{name!r} is no resource that pods are placed by (expected cpu, memory, example.com/gpu …)"


def no_field(kind: str, field: str, instead: str) -> str:
    return f"{kind} has no field {field!r} that can be set {instead}"


# -- names that there are not ------------------------------------------------------------------------------------------


def no_object(asked: str, kind: str, name: str, instead: str) -> str:
    return f"{asked}: there is no {kind} {name!r} {instead}"


def did_you_mean(name: str) -> str:
    return f"(did you mean {name!r}?)"


THERE_ARE_NONE = "(there are none)"


def expected_one_of(names: str, rest: str) -> str:
    return f"(expected one of {names}{rest})"


# -- the file of usage -------------------------------------------------------------------------------------------------

BY_NODE = "expected node: {cpu: {5m: 63.0}, memory: {5m: 40.1}}"


def nested_too_deeply(path: object) -> str:
    return f"{path}: nested too deeply ({BY_NODE})"


def unknown_resource(path: object, at: str, resources: str) -> str:
    return f"{path}: {at}: unknown resource (expected {resources})"


BY_PERIOD = "expected figures by period, such as {5m: 63.0}"


def no_period(path: object, at: str, period: object) -> str:
    return f"{path}: {at}: {period!r} is no period (expected a number and s, m or h, such as 5m)"


def no_figures(path: object, at: str, said: object) -> str:
    return f"{path}: {at}: expected percent, or {{average: 63.0, spread: 12.5}}, got {said!r:.100}"


def no_percent(path: object, at: str, said: object) -> str:
    return f"{path}: {at}: {said!r:.100} (expected percent, a number from 0 to 100)"


def no_text(path: object, at: str, key: object, expected: str) -> str:
    return f"{path}: {at}{key}: {expected}; this name is not text, quote it"
