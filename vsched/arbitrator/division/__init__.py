"""Who deserves what of a cluster."""
