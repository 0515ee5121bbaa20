"""The requests and answers of the plugin ``extender``."""
