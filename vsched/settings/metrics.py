"""The ``metrics`` block: where node usage comes from, and how its source is asked.

Volcano's keys, flat or nested, typed. Nothing here fetches anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Literal, Self

import msgspec

from vsched.settings.reading.arguments import read_arguments
from vsched.settings.reading.problems import Problems
from vsched.settings.reading.scalars import Secret
from vsched.settings.reading.tree import Keyed, MappingEntry
from vsched.settings.reading.values import read_fields
from vsched.settings.words import metrics as words

Period = Annotated[float, msgspec.Meta(gt=0, extra={"duration": True})]
SourceType = Literal["prometheus", "prometheus_adaptor", "elasticsearch", "metrics_server"]
"""The kinds of sources there are, under their proper names."""
_Written = Literal[
    "prometheus", "prometheus_adaptor", "prometheus_adapt", "prometheus_adapter", "elasticsearch", "metrics_server"
]
_ADDRESS = re.compile(r"https?://[^\s/?#]+(/[^\s?#]*)?")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_OF_THE_CLUSTER = ("prometheus_adaptor", "metrics_server")
"""Sources that are asked through the cluster's own API server."""


class KubernetesSecret(msgspec.Struct, frozen=True):
    """A key of a Secret in the cluster; all three are needed."""

    namespace: str = ""
    name: str = ""
    key: str = ""


class Hidden(msgspec.Struct, frozen=True):
    """Where a password or a token is to be found: at most one of these says it."""

    text: str = ""
    env: str = ""
    file: str = ""
    secret: KubernetesSecret = KubernetesSecret()

    def problem(self, key: str) -> str:
        """What is wrong with how it is given, under this key of the file; empty where nothing is."""
        secret = self.secret
        parts = {"namespace": secret.namespace, "name": secret.name, "key": secret.key}
        ways = {"": self.text, "Env": self.env, "File": self.file, "Secret": any(parts.values())}
        given = [f"{key}{way}" for way, value in ways.items() if value]
        if len(given) > 1:
            return words.given_besides(given[1], given[0])
        if ways["Secret"] and not all(parts.values()):
            missing = next(name for name, value in parts.items() if not value)
            return words.part_of_secret_missing(key, missing)
        return ""


class Tls(msgspec.Struct, frozen=True):
    """TLS settings of the source: trusted authorities and our client certificate."""

    insecure_skip_verify: bool = msgspec.field(default=False, name="insecureSkipVerify")
    """Takes any certificate; off, because it invites anyone in between."""
    ca_file: str = msgspec.field(default="", name="caFile")
    """Authorities to trust, in PEM form; empty for those of the system."""
    cert_file: str = msgspec.field(default="", name="certFile")
    """A client certificate in PEM form, with its key in ``keyFile``."""
    key_file: str = msgspec.field(default="", name="keyFile")


class Queries(msgspec.Struct, frozen=True):
    """What is asked for each figure; empty for what the source is asked by default.

    Prometheus: PromQL that gives one series a node, in percent. Custom metrics API: the name of a metric, from 0 to 1.
    Elasticsearch: the field of a document, from 0 to 1. ``{period}`` stands for the period (``300s``), ``{instance}``
    for ``instanceLabel``.
    """

    cpu: str = ""
    memory: str = ""
    cpu_spread: str = msgspec.field(default="", name="cpuSpread")
    """The standard deviation; Elasticsearch has it from the field itself."""
    memory_spread: str = msgspec.field(default="", name="memorySpread")
    measured: str = ""
    """PromQL for the newest sample, in seconds since the epoch. With a ``cpu`` or ``memory`` of one's own and none of
    these, the time of the answer counts."""


class ElasticsearchSettings(msgspec.Struct, frozen=True):
    """What only an Elasticsearch source needs."""

    index: str = "metricbeat-*"
    """The index that Metricbeat writes to by default."""
    username: str = ""
    """Empty asks without a name."""
    password: Secret = ""
    password_env: str = msgspec.field(default="", name="passwordEnv")
    password_file: str = msgspec.field(default="", name="passwordFile")
    password_secret: KubernetesSecret = msgspec.field(default=KubernetesSecret(), name="passwordSecret")
    hostname_field: str = msgspec.field(default="host.hostname", name="hostnameFieldName")
    """The field of a document that names the node."""

    @property
    def hidden_password(self) -> Hidden:
        return Hidden(self.password, self.password_env, self.password_file, self.password_secret)


class MetricsSource(msgspec.Struct, frozen=True):
    """Where node usage comes from, and how often it is asked."""

    type: _Written | None = None
    """Prometheus where only an address is given; without either nothing is collected, as in Volcano."""
    address: str = ""
    """URL of Prometheus or Elasticsearch; the others are asked through the cluster's API server."""
    interval: Period = 30.0
    """Seconds between two questions; Volcano's default."""
    timeout: Period = 10.0
    """Seconds for all the questions of one round; a source that takes longer is of no use every 30 seconds."""
    basicauth: bool = False
    """Whether Prometheus is asked with the user name and password below; off by default."""
    username: str = ""
    password: Secret = ""
    password_env: str = msgspec.field(default="", name="passwordEnv")
    """The environment variable that holds it."""
    password_file: str = msgspec.field(default="", name="passwordFile")
    """The file that holds it, read again for every round."""
    password_secret: KubernetesSecret = msgspec.field(default=KubernetesSecret(), name="passwordSecret")
    token: Secret = ""
    """A bearer token, instead of a name and a password."""
    token_env: str = msgspec.field(default="", name="tokenEnv")
    token_file: str = msgspec.field(default="", name="tokenFile")
    token_secret: KubernetesSecret = msgspec.field(default=KubernetesSecret(), name="tokenSecret")
    tls: Tls = Tls()
    instance_label: str = msgspec.field(default="instance", name="instanceLabel")
    """The label of a Prometheus series that says which node it is of; a port behind the name does not matter."""
    node_label: str = msgspec.field(default="", name="nodeLabel")
    """The label of a Node that holds what the source calls it; empty where that is its name."""
    queries: Queries = Queries()
    elasticsearch: ElasticsearchSettings = ElasticsearchSettings()

    @property
    def kind(self) -> SourceType | None:
        """What is asked, under its proper name; None for nothing."""
        match self.type:
            case None:
                return "prometheus" if self.address else None
            case "prometheus_adapt" | "prometheus_adapter":
                return "prometheus_adaptor"
            case "prometheus" | "prometheus_adaptor" | "elasticsearch" | "metrics_server":
                return self.type

    @property
    def hidden_password(self) -> Hidden:
        return Hidden(self.password, self.password_env, self.password_file, self.password_secret)

    @property
    def hidden_token(self) -> Hidden:
        return Hidden(self.token, self.token_env, self.token_file, self.token_secret)

    def normalised(self) -> Self:
        """The type under its proper name; refuses what could never be asked."""
        problem = next(filter(None, self._problems()), "")
        if problem:
            raise ValueError(problem)
        return msgspec.structs.replace(self, type=self.kind)

    def _problems(self) -> Iterator[str]:
        if self.address and not _ADDRESS.fullmatch(self.address):
            yield words.ADDRESS_EXPECTED
        if self.kind in ("prometheus", "elasticsearch") and not self.address:
            yield words.address_missing(self.kind)
        if self.basicauth and not self.username:
            yield words.USERNAME_MISSING
        yield self.hidden_password.problem("password")
        yield self.hidden_token.problem("token")
        yield self.elasticsearch.hidden_password.problem("elasticsearch.password")
        if self.hidden_token != Hidden() and (self.basicauth or self.elasticsearch.username):
            yield words.PASSWORD_AND_TOKEN
        if bool(self.tls.cert_file) != bool(self.tls.key_file):
            missing = "keyFile" if self.tls.cert_file else "certFile"
            yield words.tls_missing(missing)
        if not _LABEL.fullmatch(self.instance_label):
            yield words.LABEL_EXPECTED


_ASKED_DIRECTLY: tuple[SourceType, ...] = ("prometheus", "elasticsearch")
_READ_BY: Mapping[str, tuple[SourceType, ...]] = {
    "instanceLabel": ("prometheus",),
    "elasticsearch": ("elasticsearch",),
    **dict.fromkeys(
        (
            *("basicauth", "username", "password", "passwordEnv", "passwordFile", "passwordSecret"),
            *("token", "tokenEnv", "tokenFile", "tokenSecret", "tls"),
        ),
        _ASKED_DIRECTLY,
    ),
}
"""Which types of sources read a key; those that are not here are read by all, or warned of."""

Forbidden = Callable[["MetricsSource"], Iterable[tuple[str, str]]]
"""What of a block is not allowed: where in it, and why."""


def read_metrics(entry: MappingEntry | None, problems: Problems, forbidden: Forbidden) -> MetricsSource | None:
    """The block; None where there is none, or none that can be used."""
    if entry is None:
        return None
    source = read_arguments(entry.value, MetricsSource, "metrics", entry.line, problems)
    if not isinstance(source, MetricsSource):
        return None
    for path, text in forbidden(source):
        problems.add(entry.line, f"metrics.{path}", text)
    for path, text in _surprises(source):
        problems.warn(entry.line, path, text)
    _note_unread(entry, source, problems)
    return source


def _note_unread(entry: MappingEntry, source: MetricsSource, problems: Problems) -> None:
    """Note the keys that only other types of sources read."""
    if not isinstance(entry.value, Keyed) or source.kind is None:
        return
    given = read_fields(entry.value, MetricsSource, "metrics", Problems(problems.where)).lines
    for name, line in given.items():
        kinds_reading = _READ_BY.get(name.partition(".")[0])
        if kinds_reading is not None and source.kind not in kinds_reading:
            problems.idle(line, f"metrics.{name}", words.not_read(source.kind))


def _surprises(source: MetricsSource) -> Iterator[tuple[str, str]]:
    """What is not wrong but does not do what it seems to: path and text."""
    if source.kind is None:
        yield "metrics", words.NO_SOURCE
    if source.kind in _OF_THE_CLUSTER and source.address:
        yield "metrics.address", words.asked_through_cluster(source.kind)
    if source.kind == "prometheus" and not source.basicauth and (source.username or source.hidden_password != Hidden()):
        yield "metrics.basicauth", words.NO_BASICAUTH
    if source.kind == "metrics_server" and source.queries != Queries():
        yield "metrics.queries", words.NO_QUERIES
