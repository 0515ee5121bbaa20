"""Collectors of measured node usage: from Prometheus, the custom metrics API, Elasticsearch or the metrics server."""
