"""The files, variables and Secrets that a daemon's policy may refer to, by the daemon's flags and its pod."""

from __future__ import annotations

from vsched.daemon.options import Options
from vsched.kube.auth.config import IN_CLUSTER
from vsched.kube.auth.connection import Connection
from vsched.settings.reach import Reach


def reach_of(options: Options, connection: Connection) -> Reach:
    """Secrets of the pod's own namespace are allowed; a daemon outside of the cluster has no such namespace."""
    own = {connection.namespace} if connection.source == IN_CLUSTER else set()
    return Reach(options.policy_files, options.policy_env_prefix, frozenset({*options.policy_secrets, *own}))
