"""How many pods with anti-affinity to each other could be placed at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from vsched.kernels.domains import topology
from vsched.kernels.podaffinity import term_matches
from vsched.model.nodes.table import Ints, NodeStatics
from vsched.model.pods.shape import PodAffinity, PodLabels
from vsched.model.queues.queue import Namespace


def one_a_domain(
    affinity: PodAffinity,
    labels: Collection[PodLabels],
    rows: Ints,
    statics: NodeStatics,
    namespaces: Mapping[str, Namespace],
) -> int:
    """How many pods of one shape could be placed at once, given their required anti-affinity to each other.

    ``rows`` is int64[nodes]: how many of the pods each node could hold by other rules. Only terms that match all
    label sets in ``labels`` count; such a term allows one pod a topology domain.
    """
    least = int(rows.sum())
    for term in affinity.anti_required:
        if all(term_matches(term, one, namespaces) for one in labels):
            domains = topology(statics, term.topology_key)
            taken = np.unique(domains.ids[domains.present & (rows > 0)])
            least = min(least, len(taken) + int(rows[~domains.present].sum()))
    return least
