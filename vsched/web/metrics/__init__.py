"""Metrics: counters as things happen, gauges as they are asked for."""
