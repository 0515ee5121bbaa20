"""Validating webhooks: their configuration, which writes they see, and calling them."""
