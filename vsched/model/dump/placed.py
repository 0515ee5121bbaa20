"""The index of pods on nodes to JSON parts and back; label sets and nodes are referred to by position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from vsched.errors import BadInput
from vsched.model import words
from vsched.model.dump.nodes import NodePositions
from vsched.model.dump.tables import Numbered, Piece, pieces, records
from vsched.model.pods.placed import NodeCounts, PlacedPods
from vsched.model.pods.shape import HostPort, PodAffinity, PodLabels


class LabelsLine(msgspec.Struct, frozen=True):
    """The pods with one label set, by node."""

    labels: int
    nodes: tuple[int, ...]
    counts: tuple[int, ...]
    """The number of pods on each of ``nodes``; likewise in the other records here."""


class TermsLine(msgspec.Struct, frozen=True):
    """The pods of one namespace with the same affinity terms, by node."""

    affinity: PodAffinity
    namespace: str
    nodes: tuple[int, ...]
    counts: tuple[int, ...]


class PortLine(msgspec.Struct, frozen=True):
    """The pods with the same host port, by node."""

    port: HostPort
    nodes: tuple[int, ...]
    counts: tuple[int, ...]


class PlacedParts(msgspec.Struct, frozen=True):
    """The whole index."""

    counts: list[Piece]
    terms: list[Piece]
    ports: list[Piece]
    others: list[str]
    """Node names without a row in the table; their positions come after the rows."""


def placed_parts(placed: PlacedPods, labels: Numbered[PodLabels], nodes: NodePositions) -> Iterator[tuple[str, object]]:
    """Name and content of each part in turn."""

    def at(counts: NodeCounts) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return tuple(map(nodes.at, counts)), tuple(counts.values())

    yield "counts", pieces(LabelsLine(labels.at(found), *at(counts)) for found, counts in placed.counts.items())
    yield "terms", pieces(TermsLine(*key, *at(counts)) for key, counts in placed.terms.items())
    yield "ports", pieces(PortLine(port, *at(counts)) for port, counts in placed.ports.items())
    yield "others", nodes.others()


def placed_pods(parts: PlacedParts, labels: Sequence[PodLabels], names: Sequence[str]) -> PlacedPods:
    """The index of these parts; raises BadInput or IndexError where they do not match."""
    names = (*names, *parts.others)

    def counted(nodes: Sequence[int], counts: Sequence[int]) -> NodeCounts:
        if len(nodes) != len(counts) or any(at < 0 for at in nodes):
            raise BadInput(words.NOT_A_COUNT_EACH)
        return {names[at]: count for at, count in zip(nodes, counts, strict=True)}

    return PlacedPods.of(
        ((labels[line.labels], counted(line.nodes, line.counts)) for line in records(parts.counts, LabelsLine)),
        (((line.affinity, line.namespace), counted(line.nodes, line.counts)) for line in _terms(parts)),
        ((line.port, counted(line.nodes, line.counts)) for line in records(parts.ports, PortLine)),
    )


def _terms(parts: PlacedParts) -> Iterable[TermsLine]:
    return records(parts.terms, TermsLine)
