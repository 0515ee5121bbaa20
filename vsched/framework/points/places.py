"""Extension points about domains: sets of nodes that are close to each other."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

from vsched.framework.points.plugin import Point
from vsched.model.amounts.resources import Amounts
from vsched.model.nodes.table import Floats, Ints, NodeTable
from vsched.model.topology.tiers import LabelTier, Tier

SumByDomain = Callable[[Ints], Ints]
"""Sums int64[nodes] by domain: int64[domains]."""


class TierSource(Point):
    """The tiers that follow from labels of nodes, beside those of HyperNodes. Has no switch."""

    point = ""

    @abstractmethod
    def label_tiers(self) -> Sequence[LabelTier]:
        """Closest first."""


class EvictionDomains(Point):
    """How many domains are tried when pods are evicted for a job that asks for closeness."""

    point = "hyper_node_gradient"

    @abstractmethod
    def domains_to_free(self) -> int:
        """The most."""


class DomainScore(Point):
    """How well the domains of a tier suit the tasks of a job. The sum over plugins decides."""

    point = "hyper_node_order"

    @abstractmethod
    def domain_scores(self, request: Amounts, nodes: NodeTable, by_domain: SumByDomain, inside: Floats) -> Floats:
        """float64[domains]: higher is better.

        ``request`` is the sum over the tasks to place; ``inside`` says which part of the job's pods is in each domain.
        """


class ClosenessScore(Point):
    """How well nodes suit a job with pods on nodes, by how close they are. Added to the scores of ``NodeScore``."""

    point = "node_order"

    @abstractmethod
    def near_scores(self, tiers: Sequence[Tier], tier: int, domain: int, inside: Mapping[int, int]) -> Floats | None:
        """float64[nodes]: for a job whose pods are in a domain of ``tiers[tier]``; None for no scores.

        ``inside`` counts the pods by domain of the closest tier.
        """
