"""Pod affinity and anti-affinity: which pods a term selects, which nodes it allows, and how preferences score nodes.

``kernels.domains`` counts the pods of each topology domain. This module turns the counts into masks and scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vsched.kernels.domains import LabelDomains
from vsched.model.nodes.table import Floats, Ints, Mask
from vsched.model.pods.shape import PodAffinity, PodLabels, PodTerm
from vsched.model.queues.queue import Namespace

MAX_SCORE = 100.0
_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def namespaces_of(term: PodTerm, namespaces: Mapping[str, Namespace]) -> frozenset[str] | None:
    """The namespaces of a term: the listed ones and those its namespace selector matches; None means all."""
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
    """Whether a term selects a pod with this namespace and these labels; ``pairs`` are the labels as a dict."""
    selector = term.selector
    if selector is None:
        return False
    if labels.namespace not in term.namespaces:  # the cheaper check goes first: most terms name only their namespace
        wider = term.namespace_selector
        if wider is None:
            return False
        namespace = namespaces.get(labels.namespace)
        if wider.requirements and not wider.matches(dict(namespace.labels) if namespace is not None else {}):
            return False
    return selector.matches(dict(labels.pairs) if pairs is None else pairs)


def preferences(affinity: PodAffinity) -> tuple[tuple[int, PodTerm], ...]:
    """Preferred terms with their weights; the weights of anti-affinity are negative."""
    return (*affinity.preferred, *((-weight, term) for weight, term in affinity.anti_preferred))


def attracted(terms: Sequence[tuple[LabelDomains, Mask]], found: bool, matches_itself: bool) -> Mask:
    """bool[nodes]: where required affinity is met.

    ``terms`` has for each term its topology, and bool[nodes]: where the domain has a pod that all terms select. If the
    cluster has no such pod (``found`` is False), a pod that its own terms select may be the first, on any node
    that has all the topology keys.
    """
    first = not found and matches_itself
    mask: Mask | None = None
    for domains, occupied in terms:
        allowed = domains.present if first else occupied
        mask = allowed.copy() if mask is None else np.logical_and(mask, allowed, out=mask)
    assert mask is not None, "required affinity has terms"
    return mask


def preferred(sums: Sequence[tuple[LabelDomains, Ints]], candidates: Mask) -> Floats | None:
    """float64[nodes]: the weights of the pods in the node's domains, ``scaled_between`` the candidates.

    ``sums`` has for each topology the weights by domain. None where the candidates do not differ. The values of other
    nodes have no meaning. Where all is about one topology, domains are scaled: they are fewer than nodes.
    """
    (domains, by_domain), *others = sums
    if all(other is domains for other, _ in others):
        for _, more in others:
            by_domain = by_domain + more
        scores = _scaled(by_domain, by_domain.take(domains.ids), candidates)
        return None if scores is None else scores.take(domains.ids)
    total = np.zeros(len(candidates), dtype=np.int64)
    for domains, by_domain in sums:
        total += by_domain.take(domains.ids)
    return scaled_between(total, candidates)


def scaled_between(raw: Ints, candidates: Mask) -> Floats | None:
    """float64[nodes]: ``raw`` scaled so that the lowest candidate gets 0 and the highest 100, truncated.

    None where the candidates do not differ. The values of other nodes have no meaning.
    """
    return _scaled(raw, raw, candidates)


def _scaled(values: Ints, raw: Ints, candidates: Mask) -> Floats | None:
    """float64, one for each of ``values``: the same between the candidates of ``raw``, int64[nodes]."""
    most = int(raw.max(where=candidates, initial=_LEAST))
    least = int(raw.min(where=candidates, initial=_MOST))
    if not most > least:
        return None
    scores: Floats = np.subtract(values, least, dtype=np.float64)
    scores /= most - least
    scores *= MAX_SCORE
    return np.trunc(scores, out=scores)


def scaled_to_most(raw: Floats, candidates: Mask, reverse: bool = False) -> Floats | None:
    """float64[nodes]: ``raw`` (0 or more) in whole percent of the highest candidate; ``reverse`` subtracts from 100.

    None where every candidate has 0. The values of other nodes have no meaning.
    """
    most = raw.max(where=candidates, initial=0.0)
    if most == 0.0:
        return None
    scores: Floats = np.multiply(raw, MAX_SCORE)
    scores /= most
    np.floor(scores, out=scores)
    return np.subtract(MAX_SCORE, scores, out=scores) if reverse else scores
