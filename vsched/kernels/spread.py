"""Topology spread constraints: which nodes keep the skew within its bound, and scores that prefer emptier domains.

``kernels.domains`` counts the pods by domain. Counts have one more element than there are domains, for nodes without
the label.
"""

from __future__ import annotations

import math

import numpy as np

from vsched.kernels.domains import LabelDomains
from vsched.model.nodes.table import Floats, Ints, Mask

MAX_SCORE = 100.0


def fewest(counts: Ints, eligible: Mask, min_domains: int) -> int:
    """The global minimum: the count of the emptiest eligible domain; 0 where there are fewer than ``min_domains``."""
    domains = int(np.count_nonzero(eligible))
    if domains < min_domains or not domains:
        return 0
    return int(counts[:-1].min() if domains == eligible.size else counts[:-1][eligible].min())


def within_skew(
    domains: LabelDomains, counts: Ints, eligible: Mask, max_skew: int, min_domains: int, counts_itself: bool
) -> Mask:
    """bool[nodes]: where one more pod keeps the skew within its bound.

    ``counts`` are the matching pods on eligible nodes by domain. ``eligible`` is bool[size]: domains with an eligible
    node. Nodes without the label pass here, because another check reports them.
    """
    bound = max_skew + fewest(counts, eligible, min_domains) - int(counts_itself)
    passes = counts <= bound
    passes[-1] = True
    return passes.take(domains.ids)


def size_weight(domains: int) -> float:
    """The weight of a topology, which grows with its number of domains.

    Topologies with few domains have more pods in each, and would dominate the score otherwise.
    """
    return math.log(domains + 2)


def candidate_domains(domains: LabelDomains, candidates: Mask) -> Mask:
    """bool[size + 1]: domains with a candidate node."""
    found = np.zeros(domains.size + 1, dtype=np.bool_)
    found[domains.ids[candidates]] = True
    return found


def crowding(domains: LabelDomains, counts: Ints, weight: float, max_skew: int) -> Floats:
    """float64[nodes]: what one constraint adds to a node's raw score; more where its domain has more pods.

    It is 0 for nodes without the label.
    """
    by_domain: Floats = counts * np.float64(weight)
    by_domain += float(max_skew - 1)
    by_domain[-1] = 0.0
    return by_domain.take(domains.ids)


def emptier_is_better(raw: Floats, scored: Mask) -> Floats:
    """float64[nodes]: the raw scores inverted and scaled: the emptiest node is highest; 0 for unscored nodes."""
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
