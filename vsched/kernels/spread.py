"""Topology spread constraints: how far apart the domains' pod counts may be, and which domain is the better one.

Counting pods by domain is ``kernels.domains``' business; counts have one place more than there are domains, for the
nodes without the label.
"""

from __future__ import annotations

import math

import numpy as np

from vsched.kernels.domains import Topology
from vsched.model.nodes.table import Floats, Ints, Mask

MAX_SCORE = 100.0


def fewest(counts: Ints, eligible: Mask, min_domains: int) -> int:
    """The count to compare with: that of the emptiest eligible domain, 0 where there are too few of them."""
    domains = int(np.count_nonzero(eligible))
    if domains < min_domains or not domains:
        return 0
    return int(counts[:-1].min() if domains == eligible.size else counts[:-1][eligible].min())


def within_skew(
    domains: Topology, counts: Ints, eligible: Mask, max_skew: int, min_domains: int, counts_itself: bool
) -> Mask:
    """bool[nodes]: where one more pod keeps the skew within its bound.

    ``counts`` are matching pods on eligible nodes, ``eligible`` is bool[size]: domains that have such a node.
    Nodes without the label pass here; that they lack it is another reason.
    """
    bound = max_skew + fewest(counts, eligible, min_domains) - int(counts_itself)
    passes = counts <= bound
    passes[-1] = True
    return passes.take(domains.ids)


def size_weight(domains: int) -> float:
    """The weight of a topology by its number of domains, so that small ones are not drowned by large ones."""
    return math.log(domains + 2)


def candidate_domains(domains: Topology, candidates: Mask) -> Mask:
    """bool[size + 1]: domains that have a candidate."""
    found = np.zeros(domains.size + 1, dtype=np.bool_)
    found[domains.ids[candidates]] = True
    return found


def crowding(domains: Topology, counts: Ints, weight: float, max_skew: int) -> Floats:
    """float64[nodes]: what one constraint adds to a node's raw score: more where its domain has more pods.

    Nothing on nodes without the label.
    """
    by_domain: Floats = counts * np.float64(weight)
    by_domain += float(max_skew - 1)
    by_domain[-1] = 0.0
    return by_domain.take(domains.ids)


def emptier_is_better(raw: Floats, scored: Mask) -> Floats:
    """float64[nodes]: the raw scores of the scored nodes turned round, the emptiest highest; 0 for all others."""
    rounded = np.floor(raw + 0.5)
    most = rounded.max(where=scored, initial=0.0)
    if most == 0.0:
        return np.where(scored, MAX_SCORE, 0.0)
    least = rounded.min(where=scored, initial=np.inf)
    scores = np.subtract(most + least, rounded)
    scores *= MAX_SCORE
    scores /= most
    np.floor(scores, out=scores)
    return np.where(scored, scores, 0.0)
