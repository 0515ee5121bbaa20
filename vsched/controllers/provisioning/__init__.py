"""ProvisioningRequests: nodes for a whole gang are asked for at once, followed, asked for again, and withdrawn."""
