"""The ``metrics`` block: where node usage would come from.

Volcano's keys, flat or nested, typed. Nothing here fetches anything.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

import msgspec

from vsched.settings.arguments import read_arguments
from vsched.settings.problems import Problems
from vsched.settings.scalars import Secret
from vsched.settings.tree import Entry

Period = Annotated[float, msgspec.Meta(gt=0, extra={"duration": True})]
_ADDRESS = re.compile(r"https?://[^\s/]+(/\S*)?")


class Tls(msgspec.Struct, frozen=True):
    """How the source is trusted."""

    insecure_skip_verify: bool = msgspec.field(default=False, name="insecureSkipVerify")
    """Takes any certificate; off, because it invites anyone in between."""


class Elasticsearch(msgspec.Struct, frozen=True):
    """What only an Elasticsearch source needs."""

    index: str = "metricbeat-*"
    """What Metricbeat writes to unless told otherwise."""
    username: str = ""
    """Empty asks without a name."""
    password: Secret = ""
    hostname_field: str = msgspec.field(default="host.hostname", name="hostnameFieldName")
    """The field of a document that names the node."""


class MetricsSource(msgspec.Struct, frozen=True):
    """Where node usage comes from, and how often it is asked."""

    type: Literal["prometheus", "prometheus_adaptor", "prometheus_adapt", "elasticsearch"] | None = None
    """None collects nothing, as in Volcano."""
    address: str = ""
    """URL of Prometheus or Elasticsearch; the custom metrics API has none of its own."""
    interval: Period = 30.0
    """Seconds between two questions; Volcano's default."""
    basicauth: bool = False
    """Whether Prometheus is asked with the user name and password below; off by default."""
    username: str = ""
    password: Secret = ""
    tls: Tls = Tls()
    elasticsearch: Elasticsearch = Elasticsearch()

    def normalised(self) -> Self:
        """One name for the custom metrics API; refuses what could never be asked."""
        if self.address and not _ADDRESS.fullmatch(self.address):
            raise ValueError("address: expected a URL such as http://prometheus:9090")
        if self.type in ("prometheus", "elasticsearch") and not self.address:
            raise ValueError(f"address: missing; a {self.type} source needs one, such as http://192.168.0.10:9090")
        if self.basicauth and not self.username:
            raise ValueError("username: missing; basicauth needs one")
        if self.type == "prometheus_adapt":
            return msgspec.structs.replace(self, type="prometheus_adaptor")
        return self


def read_metrics(entry: Entry | None, problems: Problems) -> MetricsSource | None:
    """The block; None where there is none, or none that can be used."""
    if entry is None:
        return None
    source = read_arguments(entry.value, MetricsSource, "metrics", entry.line, problems)
    if not isinstance(source, MetricsSource):
        return None
    if source.type is None:
        problems.warn(entry.line, "metrics", "no type is given, so no usage would be collected")
    else:
        problems.warn(entry.line, "metrics.type", f"collecting usage ({source.type}) is not in this version of vsched")
    return source
