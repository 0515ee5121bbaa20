"""Pod affinity and anti-affinity: which pods a term means, which nodes it allows, how a preference scores.

Counting the pods of each topology domain is ``kernels.domains``' business; here the sums become masks and scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vsched.kernels.domains import Topology
from vsched.model.nodes.table import Floats, Ints, Mask
from vsched.model.pods.shape import PodAffinity, PodLabels, PodTerm
from vsched.model.queues.queue import Namespace

MAX_SCORE = 100.0


def namespaces_of(term: PodTerm, namespaces: Mapping[str, Namespace]) -> frozenset[str] | None:
    """The namespaces a term looks into: the listed ones and those its selector matches; None means all of them."""
    selector = term.namespace_selector
    if selector is None:
        return frozenset(term.namespaces)
    if not selector.requirements:
        return None
    chosen = (name for name, namespace in namespaces.items() if selector.matches(dict(namespace.labels)))
    return frozenset((*term.namespaces, *chosen))


def term_matches(
    term: PodTerm, labels: PodLabels, namespaces: Mapping[str, Namespace], pairs: dict[str, str] | None = None
) -> bool:
    """Whether a term means a pod of this namespace and these labels; ``pairs`` are those, where they are at hand."""
    selector = term.selector
    if selector is None:
        return False
    if labels.namespace not in term.namespaces:  # the cheaper question goes first: most terms mean their own namespace
        wider = term.namespace_selector
        if wider is None:
            return False
        namespace = namespaces.get(labels.namespace)
        if wider.requirements and not wider.matches(dict(namespace.labels) if namespace is not None else {}):
            return False
    return selector.matches(dict(labels.pairs) if pairs is None else pairs)


def preferences(affinity: PodAffinity) -> tuple[tuple[int, PodTerm], ...]:
    """Preferred terms with their weights, those of anti-affinity negative."""
    return (*affinity.preferred, *((-weight, term) for weight, term in affinity.anti_preferred))


def attracted(terms: Sequence[tuple[Topology, Mask]], found: bool, matches_itself: bool) -> Mask:
    """bool[nodes]: where required affinity is met.

    For each term its topology and bool[nodes]: where the domain has a pod that all terms mean. While there is none in
    the cluster (``found`` False), a pod that its own terms mean may be the first, on any node that has all the keys.
    """
    first = not found and matches_itself
    mask: Mask | None = None
    for domains, occupied in terms:
        allowed = domains.present if first else occupied
        mask = allowed.copy() if mask is None else np.logical_and(mask, allowed, out=mask)
    if mask is None:
        raise ValueError("required affinity without terms")
    return mask


def preference_sum(sums: Sequence[tuple[Topology, Ints]], nodes: int) -> Floats:
    """float64[nodes]: weights of the pods in the node's domains, summed over the topologies."""
    total = np.zeros(nodes)
    for domains, by_domain in sums:
        total += by_domain.take(domains.ids)
    return total


def scaled_between(raw: Floats, candidates: Mask) -> Floats | None:
    """float64[nodes]: ``raw`` scaled so that the least candidate gets 0 and the most 100, rounded down.

    None where the candidates do not differ. What nodes get that are no candidates has no meaning.
    """
    most = raw.max(where=candidates, initial=-np.inf)
    least = raw.min(where=candidates, initial=np.inf)
    if not most > least:
        return None
    scores: Floats = np.subtract(raw, least)
    scores /= most - least
    scores *= MAX_SCORE
    np.trunc(scores, out=scores)
    return scores


def scaled_to_most(raw: Floats, candidates: Mask, reverse: bool = False) -> Floats | None:
    """float64[nodes]: ``raw`` (0 or more) as whole hundredths of the most a candidate has; ``reverse`` counts down.

    None where no candidate has any. What nodes get that are no candidates has no meaning.
    """
    most = raw.max(where=candidates, initial=0.0)
    if most == 0.0:
        return None
    scores: Floats = np.multiply(raw, MAX_SCORE)
    scores /= most
    np.floor(scores, out=scores)
    return np.subtract(MAX_SCORE, scores, out=scores) if reverse else scores
