"""What ``vsched autoscaling`` says."""

from __future__ import annotations

# -- the page ----------------------------------------------------------------------------------------------------------

NO_PROVISIONING_REQUESTS = "nodes are not requested by ProvisioningRequests (set autoscaling in the policy)"
NO_NODES_REQUESTED = "no nodes are requested"
NO_BUFFERS = "there are no CapacityBuffers"
