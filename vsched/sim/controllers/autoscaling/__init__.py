"""A stand-in for cluster-autoscaler: nodes of pools for pods that say Unschedulable, and for ProvisioningRequests."""
