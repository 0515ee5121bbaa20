"""Which clusters are asked: by the URLs of their daemons, or by a file that says how to reach each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml

from vsched import files
from vsched.cli.ask.cluster import ClusterFlags
from vsched.cli.plan.several import words
from vsched.client.target import DaemonTarget
from vsched.errors import BadInput, why_unreadable
from vsched.yamltext import KubernetesLoader

MOST_CLUSTERS = 100


class AskedCluster(NamedTuple):
    """A cluster that is asked."""

    name: str
    target: DaemonTarget
    api: ClusterFlags | None = None
    """How to reach its API server; None where nobody says."""


class _Entry(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    name: str
    daemon: str
    token_file: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    server_name: str = ""
    kubeconfig: str | None = None
    context: str | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    clusters: list[_Entry]


def by_urls(urls: Sequence[str], target: DaemonTarget) -> list[AskedCluster]:
    """Clusters by the URLs of their daemons, with the credentials of ``target``; raises BadInput."""
    return _distinct("--live", [AskedCluster(url, target._replace(daemon=url, named=True)) for url in urls])


def by_file(path: Path) -> list[AskedCluster]:
    """The clusters of a file; raises BadInput with file and place."""
    try:
        found = msgspec.convert(yaml.load(files.text(path), KubernetesLoader), _File, str_keys=True)
    except yaml.YAMLError as error:
        raise BadInput(words.no_yaml(path, " ".join(str(error).split()))) from None
    except msgspec.ValidationError as error:
        raise BadInput(f"{path}: {why_unreadable(error)}") from None
    if not 0 < len(found.clusters) <= MOST_CLUSTERS:
        raise BadInput(words.how_many_clusters(path, len(found.clusters), MOST_CLUSTERS))
    return _distinct(str(path), [_asked(path.parent, entry) for entry in found.clusters])


def _asked(folder: Path, entry: _Entry) -> AskedCluster:
    def beside(file: str | None) -> Path | None:
        return None if file is None else folder / Path(file).expanduser()

    target = DaemonTarget(
        entry.daemon,
        beside(entry.token_file),
        beside(entry.ca_file),
        beside(entry.cert_file),
        beside(entry.key_file),
        entry.server_name,
    )
    is_known = entry.kubeconfig is not None or entry.context is not None
    return AskedCluster(entry.name, target, ClusterFlags(beside(entry.kubeconfig), entry.context) if is_known else None)


def _distinct(where: str, clusters: list[AskedCluster]) -> list[AskedCluster]:
    seen = set[str]()
    for cluster in clusters:
        if cluster.name in seen:
            raise BadInput(words.named_twice(where, cluster.name))
        seen.add(cluster.name)
    return clusters
