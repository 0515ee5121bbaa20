"""Builds the source that the ``metrics`` block of a policy describes."""

from __future__ import annotations

from vsched.clock import Clock
from vsched.collectors.custom_metrics import CustomMetrics
from vsched.collectors.elasticsearch import Elasticsearch
from vsched.collectors.endpoint import Endpoint
from vsched.collectors.metrics_server import MetricsServer
from vsched.collectors.prometheus import Prometheus
from vsched.collectors.source import Source
from vsched.kube.client import ApiClient
from vsched.settings.metrics import MetricsSource
from vsched.settings.reach import ANYTHING, Reach


def make_source(settings: MetricsSource, client: ApiClient, clock: Clock, reach: Reach = ANYTHING) -> Source | None:
    """The source, without any request so far; None if no usage is to be collected.

    ``client`` is of the cluster: for sources that are asked through its API server, and for Secrets. ``reach`` bounds
    what is read to log in.
    """
    match settings.kind:
        case None:
            return None
        case "prometheus":
            return Prometheus(settings, Endpoint(settings, client, reach), clock)
        case "elasticsearch":
            return Elasticsearch(settings, Endpoint(settings, client, reach), clock)
        case "prometheus_adaptor":
            return CustomMetrics(settings, client, clock)
        case "metrics_server":
            return MetricsServer(settings, client, clock)
