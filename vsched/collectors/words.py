"""What is said of sources of metrics that do not answer as they should."""

from __future__ import annotations

# -- custom metrics ----------------------------------------------------------------------------------------------------


def no_prometheus_adapter(server: str, group: str) -> str:
    return f"{server} serves no {group}: is the Prometheus adapter installed, and its APIService available?"


def served_as_other_version(group: str, served: str, expected: str) -> str:
    return f"{group} is served as {served}; expected {expected}"


def no_such_metric(metric: str, why: str) -> str:
    return f"nodes have no metric {metric}: {why}"


# -- Elasticsearch -----------------------------------------------------------------------------------------------------


def search_out_of_time(index: str) -> str:
    return f"{index}: the search ran out of time"


def all_shards_failed(index: str, shards: int) -> str:
    return f"{index}: all {shards} shards failed"


def no_such_index(index: str) -> str:
    return f"{index}: the index does not exist"


# -- any endpoint ------------------------------------------------------------------------------------------------------


def redirects(where: str, code: int, location: str) -> str:
    return f"{where}: {code}: redirects to {location}"


def answer_too_long(where: str, mib: int) -> str:
    return f"{where}: the answer is longer than {mib} MiB"


def web_page(where: str) -> str:
    return f"{where}: answered with a web page, not JSON; is the address right?"


def unreadable(where: str, why: str, start: str) -> str:
    return f"{where}: {why}; the answer starts with {start!r}"


# -- the metrics server ------------------------------------------------------------------------------------------------


def no_metrics_server(server: str, group: str) -> str:
    return f"{server} serves no {group}: is the metrics server installed?"


# -- past use ----------------------------------------------------------------------------------------------------------


def no_range(name: str, result: str) -> str:
    return f"{name}: the query gives a {result}, expected a range (a matrix)"


# -- figures of nodes --------------------------------------------------------------------------------------------------


def no_answer_within(source: str, seconds: float) -> str:
    return f"{source}: no answer within {seconds:g} s"


def figures_from_the_future(ahead: int, nodes: int) -> str:
    return f"the figures of {ahead} of {nodes} nodes are from the future: a clock is wrong"


def knows_none_of(nodes: int, named: str) -> str:
    return f"it knows none of the {nodes} nodes, only {named}: check instanceLabel and nodeLabel"


def no_figures_of(nodes: int) -> str:
    return f"it has figures of none of the {nodes} nodes"


# -- Prometheus --------------------------------------------------------------------------------------------------------


def no_vector(name: str, result: str) -> str:
    return f"{name}: the query gives a {result}, expected one number a node (a vector)"


NO_LABEL = "no label at all"


def series_without_label(name: str, label: str, labels: str) -> str:
    return f"{name}: there are series without {label} (instanceLabel); they have {labels}"


# -- credentials -------------------------------------------------------------------------------------------------------


def no_environment_variable(name: str) -> str:
    return f"the environment variable {name} is not set"


def no_key(where: str, key: str) -> str:
    return f"{where}: has no key {key}"


def no_base64(where: str, key: str) -> str:
    return f"{where}: {key} is not text in base64"


def no_text(file: str) -> str:
    return f"{file}: is not text"
