"""Placed pods: counts, the indexes that find them, and the copy that is kept up to date."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.model.pods.placed import PlacedPods
from vsched.model.pods.shape import HostPort, PodAffinity, PodLabels, PodTerm, Requirement, Selector, Shape, ShapeTable


def select(*names: str) -> Selector:
    return Selector((Requirement("app", "In", names),))


TABLE = ShapeTable()
LABELS = [TABLE.labels(space, labels) for space in ("ns", "other") for labels in ({}, {"app": "web"}, {"app": "db"})]
TERMS = [
    PodTerm("zone", select("web"), ("ns",)),
    PodTerm("zone", select("web", "db"), ("ns",)),
    PodTerm("zone", Selector(), ("ns",)),
    PodTerm("zone", None, ("ns",)),
]
AFFINITIES = [
    None,
    PodAffinity(anti_required=(TERMS[0],)),
    PodAffinity(anti_required=(TERMS[1], TERMS[2])),
    PodAffinity(anti_required=(TERMS[3],), preferred=((5, TERMS[0]),)),
    PodAffinity(anti_preferred=((5, TERMS[2]), (1, TERMS[1]))),
]
SHAPES = [
    TABLE.shape((), affinity=affinity, ports=ports)
    for affinity in AFFINITIES
    for ports in ((), (HostPort(80), HostPort(443)))
]
PODS = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from(SHAPES), st.sampled_from(["n1", "n2"]), st.booleans()),
    max_size=20,
)


@given(PODS)
def test_a_published_copy_is_equal_and_indexes_find_what_is_there(
    pods: list[tuple[PodLabels, Shape, str, bool]],
) -> None:
    mirror, published = PlacedPods(), PlacedPods()
    there: list[tuple[PodLabels, Shape, str]] = []
    for labels, shape, node, publish in pods:
        pod = (labels, shape, node)
        if pod in there:
            there.remove(pod)
            mirror.shift(labels, shape, node, -1)
        else:
            there.append(pod)
            mirror.shift(labels, shape, node, 1)
        if publish:
            mirror.publish(published)
    mirror.publish(published)
    for placed in (mirror, published):
        assert sum(sum(by_node.values()) for by_node in placed.counts.values()) == len(there)
        for selector in (select("web"), Selector()):
            expected = {labels for labels, _, _ in there if selector.matches(dict(labels.pairs))}
            assert set(placed.matching(selector, None)) == expected
        carriers = {(shape.affinity, labels.namespace) for labels, shape, _ in there if shape.affinity}
        assert set(placed.terms) == carriers
        ports = {port for _, shape, _ in there for port in shape.ports}
        assert set(placed.ports) == ports
        check_terms(placed)
    assert published.terms == mirror.terms
    assert published.counts == mirror.counts
    assert published.ports == mirror.ports


@given(PODS)
def test_in_steps_all_is_published_whatever_changes_in_between(pods: list[tuple[PodLabels, Shape, str, bool]]) -> None:
    mirror, published = PlacedPods(), PlacedPods()
    there: set[tuple[PodLabels, Shape, str]] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vsched.model.pods.placed._MANY", 1)
        steps = mirror.prepare(published)
        for labels, shape, node, begins in pods:
            pod = (labels, shape, node)
            mirror.shift(*pod, -1 if pod in there else 1)
            there ^= {pod}
            if begins:
                steps = mirror.prepare(published)
            next(steps, None)
        for _ in mirror.prepare(published):
            pass
    assert published.counts == mirror.counts
    mirror.publish(published)
    assert published.counts == mirror.counts
    for selector in (select("web"), Selector()):
        assert set(published.matching(selector, None)) == set(mirror.matching(selector, None))


def told(placed: PlacedPods) -> object:
    """All that is asked of an index."""
    found = [
        (list(placed.matching(selector, spaces)), placed.looked_at(selector, spaces))
        for selector in (select("web"), select("web", "db"), Selector())
        for spaces in (None, frozenset({"ns"}), frozenset({"ns", "other"}))
    ]
    terms = [list(index.about(labels)) for index in (placed.repelling, placed.preferring) for labels in LABELS]
    return found, terms, dict(placed.counts), dict(placed.terms), dict(placed.ports)


@given(PODS)
def test_copies_stay_as_they_are_whatever_is_published_later(
    pods: list[tuple[PodLabels, Shape, str, bool]],
) -> None:
    mirror, published = PlacedPods(), PlacedPods()
    there: set[tuple[PodLabels, Shape, str]] = set()
    copies: list[tuple[PlacedPods, object]] = []
    for labels, shape, node, copied in pods:
        pod = (labels, shape, node)
        mirror.shift(*pod, -1 if pod in there else 1)
        there ^= {pod}
        mirror.publish(published)
        if copied:
            copies.append((published.copy(), told(published)))
        for copy, before in copies:
            assert told(copy) == before
            changed = copy.writable()
            for each in LABELS:
                changed.shift(each, SHAPES[1], "n3", 1)
            assert told(copy) == before


def check_terms(placed: PlacedPods) -> None:
    """Every carrier with a term that means a pod is found for it, each once."""
    for labels in LABELS:
        for index, terms_of in (
            (placed.repelling, lambda one: one.anti_required),
            (placed.preferring, lambda one: [term for _, term in (*one.preferred, *one.anti_preferred)]),
        ):
            found = index.about(labels)
            assert len(found) == len(set(found))
            assert set(found) <= set(placed.terms)
            for key in placed.terms:
                selectors = [term.selector for term in terms_of(key[0])]
                if any(one is not None and one.matches(dict(labels.pairs)) for one in selectors):
                    assert key in found
    if not placed.terms:
        assert not placed.repelling
        assert not placed.preferring
