"""Ears: what nodes really use, from Prometheus, the custom metrics API, Elasticsearch or the metrics server."""
