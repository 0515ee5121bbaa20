"""Scores of domains by how full they would be, and of nodes by how close they are to pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vsched.kernels.binpack import PackedResource, binpack
from vsched.model.nodes.table import NO_DOMAIN, Floats
from vsched.model.topology.tiers import Tier


def fullness(used: Sequence[Floats], has: Sequence[Floats], asked: Sequence[int], weights: Sequence[int]) -> Floats:
    """float64[domains]: the weighted mean of the parts that would be used; 0 where a resource would not suffice.

    The sequences go by resource; there is at least one. ``used`` and ``has`` are float64[domains]. It is the score of
    binpack, of domains in place of nodes. No filter has looked at domains, so one may lack a resource altogether.
    """
    wishes = [
        PackedResource(at, amount, weight) for at, (amount, weight) in enumerate(zip(asked, weights, strict=True))
    ]
    amounts = np.array(has)
    lacking = (amounts == 0).any(axis=1).tolist()
    return binpack(wishes, amounts - np.array(used), amounts, sum(weights), 1.0, lacking, lacking_holds=False)


def with_share(scores: Floats, share: Floats) -> Floats:
    """The scores, with ``share`` added where they are highest, so that it decides between equals."""
    return np.where(scores == scores.max(initial=0.0), scores + share, scores)


def closeness(tiers: Sequence[Tier], tier: int, domain: int, inside: Mapping[int, int]) -> Floats:
    """float64[nodes]: 1 for the closest tier, 0 for the widest; by the tier of which a node shares the domain.

    The pods are in ``domain`` of ``tiers[tier]``. ``inside`` counts them by domain of the closest tier: of the closest
    nodes, those of the domain with the most pods score higher.
    """
    widest, closest = tiers[-1].level, tiers[0].level
    example = int(np.flatnonzero(tiers[tier].ids == domain)[0])
    scores = np.zeros(len(tiers[tier].ids))
    for wider in reversed(tiers[tier:]):
        own = wider.ids[example]
        if own != NO_DOMAIN:
            score = 1.0 if widest == closest else (widest - wider.level) / (widest - closest)
            scores[wider.ids == own] = score
    pods = np.zeros(len(tiers[0].domains) + 1)
    for one, count in inside.items():
        pods[one] = count if one != NO_DOMAIN else 0
    pods[NO_DOMAIN] = 0
    return with_share(scores, pods[tiers[0].ids] / max(1.0, float(pods.sum())))


def faded(parts: Sequence[Floats], tiers: Sequence[Tier], fading: float) -> Floats:
    """float64[nodes]: the mean over tiers of their domains' scores, each wider tier with ``fading`` of the weight.

    ``parts`` are float64[domains] by tier; a node that is in no domain of a tier has 1 there.
    """
    total = np.zeros(len(tiers[0].ids))
    weight, weights = 1.0, 0.0
    for part, tier in zip(parts, tiers, strict=True):
        total += weight * np.append(part, 1.0)[tier.ids]
        weights += weight
        weight *= fading
    return total / weights
