"""How many pods of one shape could be placed at once that keep apart from each other as they state."""

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
    """The least that any anti-affinity of the pods to themselves leaves of ``rows``, how many each node could hold."""
    least = int(rows.sum())
    for term in affinity.anti_required:
        if all(term_matches(term, one, namespaces) for one in labels):
            domains = topology(statics, term.topology_key)
            taken = np.unique(domains.ids[domains.present & (rows > 0)])
            least = min(least, len(taken) + int(rows[~domains.present].sum()))
    return least
