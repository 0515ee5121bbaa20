"""Pictures that were never seen in a cluster, and pictures that follow them."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec.structs import replace

from vsched.web.overview.document import (
    JobRow,
    NamespaceRow,
    NodeRow,
    Overview,
    PolicyRow,
    QueueRow,
    Resource,
    SessionRow,
)

COUNTS = (
    *("nodes", "pods_running", "pods_waiting", "jobs_running", "jobs_waiting"),
    *("bound_total", "evicted_total", "bound_by_others", "jobs_left_out"),
    *("nodes_left_out", "queues_left_out", "namespaces_left_out"),
)
RESOURCES = (Resource("cpu", "milli", 8000, 4000), Resource("memory", "bytes", 1 << 34, 1 << 32))
EMPTY = Overview(1, 1000.0, "0.1.0", "leader", RESOURCES, {}, {}, {}, {}, (), None, dict.fromkeys(COUNTS, 0))

QUEUES, KEYS = ("a", "b"), tuple(f"ns/j{number}" for number in range(8))
small = st.integers(0, 2)
pairs = st.tuples(small, small)
maybe = st.one_of(st.none(), small)
limits = st.tuples(maybe, maybe)


def job(key: str, position: int | None = None, message: str = "", **fields: object) -> JobRow:
    """A job that waits, unless something else is said."""
    row = JobRow(key, "a", "Inqueue", 0, 2, 0, 2, 0, 1000.0, position, "", message, (1000, 0))
    return replace(row, **fields) if fields else row


def session(number: int) -> SessionRow:
    return SessionRow(number, 1000.0 + number, "change", 0.1, 0.2, 0.3, number % 3, 0, 0, {"allocate": 0.1})


def picture(*jobs: JobRow, number: int = 1) -> Overview:
    """One with these jobs and nothing else."""
    return replace(EMPTY, number=number, jobs={row.key: row for row in jobs})


def _named(names: st.SearchStrategy[str], row: type, *fields: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.dictionaries(names, st.tuples(*fields), max_size=8).map(
        lambda found: {name: row(name, *rest) for name, rest in found.items()}
    )


queues = _named(
    st.sampled_from(QUEUES),
    QueueRow,
    *(st.just(""), st.sampled_from(("Open", "Closed")), small, small, st.sampled_from((0.0, 0.5)), st.booleans()),
    *(pairs, limits, limits, limits, small, small, st.just("")),
)
nodes = _named(
    st.sampled_from(("n1", "n2", "n3")),
    NodeRow,
    limits,
    maybe,
    maybe,
    small,
    st.sampled_from(("", "cordoned")),
    st.just(""),
)
jobs = _named(
    st.sampled_from(KEYS),
    JobRow,
    *(st.sampled_from(QUEUES), st.sampled_from(("Inqueue", "Running")), small, small, small, small, small),
    *(
        st.just(1000.0),
        st.one_of(st.none(), st.integers(1, 6)),
        st.just("Fits"),
        st.sampled_from(("", "x", "y")),
        pairs,
    ),
)
namespaces = st.dictionaries(
    st.sampled_from(QUEUES), st.tuples(small, st.sampled_from((0.0, 0.5)), pairs, small, limits), max_size=2
).map(lambda found: {f"{queue}/ns": NamespaceRow(queue, "ns", *rest) for queue, rest in found.items()})
sessions = st.tuples(st.integers(1, 4), st.integers(0, 4)).map(
    lambda found: tuple(session(number) for number in range(found[0], sum(found)))
)
policies = st.one_of(
    st.none(),
    st.integers(1, 2).map(lambda number: PolicyRow(number, "abc", "file", ("allocate",), (), 9.0, True, "", ())),
)
overviews = st.builds(
    Overview,
    number=st.integers(1, 3),
    at=st.sampled_from((1000.0, 1001.0)),
    version=st.sampled_from(["0.1.0"] * 9 + ["0.2.0"]),
    role=st.sampled_from(("leader", "standby")),
    resources=st.sampled_from([RESOURCES] * 8 + [(replace(RESOURCES[0], held=1), RESOURCES[1]), RESOURCES[:1]]),
    queues=queues,
    namespaces=namespaces,
    nodes=nodes,
    jobs=jobs,
    sessions=sessions,
    policy=policies,
    counts=st.fixed_dictionaries(dict.fromkeys(COUNTS, small)),
)
"""Rows are drawn from so few that many are in two pictures, and differ in little."""


@st.composite
def orders(draw: st.DrawFn) -> Overview:
    """Jobs of one queue one behind another, as sessions see them."""
    keys = draw(st.permutations(KEYS))[: draw(st.integers(0, len(KEYS)))]
    said = draw(st.sampled_from(("", "x", "y")))
    return picture(*(job(key, place, said) for place, key in enumerate(keys, 1)))
