"""What ``vsched migrate`` says itself."""

from __future__ import annotations

# -- flags -------------------------------------------------------------------------------------------------------------

FILES_AND_CLUSTER = "files and a cluster (--kubeconfig, --context) are both named: expected one of them"
