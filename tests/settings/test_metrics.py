"""The metrics block: flat and nested, typed, and quiet about passwords."""

from __future__ import annotations

import json

import pytest

from vsched.framework.registry import Registry
from vsched.settings import Settings, load_text
from vsched.settings.metrics import Hidden, KubernetesSecret
from vsched.settings.words import metrics as words

POLICY = "actions: allocate\ntiers: [{plugins: [{name: gang}]}]\nmetrics:\n"

FLAT = """
  type: elasticsearch
  address: https://someone:hunter2@search:9200/x
  interval: 1m
  tls.insecureSkipVerify: "true"
  elasticsearch.index: i
  elasticsearch.username: u
  elasticsearch.password: "s3cret"
  elasticsearch.hostnameFieldName: h
"""
NESTED = """
  type: elasticsearch
  address: https://someone:hunter2@search:9200/x
  interval: 60s
  tls: {insecureSkipVerify: true}
  elasticsearch:
    index: i
    username: u
    password: s3cret
    hostnameFieldName: h
"""


def load(block: str, registry: Registry) -> Settings:
    return load_text(POLICY + block, "policy.yaml", registry)


def test_flat_and_nested_are_the_same(registry: Registry) -> None:
    metrics = load(FLAT, registry).metrics
    assert metrics == load(NESTED, registry).metrics
    assert metrics is not None
    assert metrics.elasticsearch.password == "s3cret"
    assert metrics.tls.insecure_skip_verify


def test_no_secret_is_shown(registry: Registry) -> None:
    settings = load(FLAT, registry)
    shown = settings.to_dict()["policy"]["metrics"]
    assert shown["elasticsearch.password"] == "***"
    assert shown["address"] == "https://***@search:9200/x"
    assert shown["password"] == ""
    text = json.dumps(settings.to_dict())
    assert "s3cret" not in text
    assert "hunter2" not in text


@pytest.mark.parametrize("password", ["yes", "0123", "1.50", "~", "'a b'"])
def test_a_password_is_taken_as_it_is_written(password: str, registry: Registry) -> None:
    metrics = load(f"  password: {password}", registry).metrics
    assert metrics is not None
    assert metrics.password == ("" if password == "~" else password.strip("'"))


@pytest.mark.parametrize("name", ["prometheus_adapt", "prometheus_adaptor", "prometheus_adapter"])
def test_all_names_of_the_custom_metrics_source_are_one(name: str, registry: Registry) -> None:
    metrics = load(f"  type: {name}", registry).metrics
    assert metrics is not None
    assert metrics.type == "prometheus_adaptor"


def test_no_type_collects_nothing_and_says_so(registry: Registry) -> None:
    settings = load("  interval: 10s", registry)
    assert settings.metrics is not None
    assert settings.metrics.type is None
    assert settings.metrics.kind is None
    assert settings.warnings == ("policy.yaml:3: metrics: " + words.NO_SOURCE,)


def test_an_address_alone_is_prometheus(registry: Registry) -> None:
    settings = load("  address: http://192.168.0.10:9090", registry)
    assert settings.metrics is not None
    assert settings.metrics.type == "prometheus"
    assert settings.warnings == ()


def test_no_block_is_no_source(registry: Registry) -> None:
    settings = load_text("actions: allocate\ntiers: [{plugins: [{name: gang}]}]", "policy.yaml", registry)
    assert settings.metrics is None
    assert settings.warnings == ()


EVERYTHING = """
  type: prometheus
  address: https://prometheus:9090/path
  interval: 15s
  timeout: 5s
  basicauth: "true"
  username: me
  passwordSecret: {namespace: monitoring, name: login, key: password}
  tls: {caFile: /ca.pem, certFile: /client.pem, keyFile: /client.key}
  instanceLabel: node
  nodeLabel: kubernetes.io/hostname
  queries:
    cpu: "100 * cpu_used[{period}] by ({instance})"
    cpuSpread: ""
  elasticsearch: {passwordFile: /password}
"""
EVERYTHING_FLAT = """
  type: prometheus
  address: https://prometheus:9090/path
  interval: 15s
  timeout: 5000ms
  basicauth: true
  username: me
  passwordSecret.namespace: monitoring
  passwordSecret.name: login
  passwordSecret.key: password
  tls.caFile: /ca.pem
  tls.certFile: /client.pem
  tls.keyFile: /client.key
  instanceLabel: node
  nodeLabel: kubernetes.io/hostname
  queries.cpu: "100 * cpu_used[{period}] by ({instance})"
  elasticsearch.passwordFile: /password
"""


def test_everything_a_source_can_be_told_flat_and_nested(registry: Registry) -> None:
    metrics = load(EVERYTHING, registry).metrics
    assert metrics == load(EVERYTHING_FLAT, registry).metrics
    assert metrics is not None
    assert metrics.hidden_password == Hidden(secret=KubernetesSecret("monitoring", "login", "password"))
    assert metrics.elasticsearch.hidden_password == Hidden(file="/password")
    assert (metrics.interval, metrics.timeout, metrics.tls.ca_file) == (15.0, 5.0, "/ca.pem")
    assert metrics.queries.cpu == "100 * cpu_used[{period}] by ({instance})"


def test_a_token_is_not_shown(registry: Registry) -> None:
    settings = load("  address: http://p:9090\n  token: t0ps3cret", registry)
    assert "t0ps3cret" not in json.dumps(settings.to_dict())
    assert settings.metrics is not None
    assert settings.metrics.hidden_token == Hidden("t0ps3cret")


SURPRISES = {
    "an address that nobody asks": (
        "  type: prometheus_adaptor\n  address: http://p:9090",
        "metrics.address: " + words.asked_through_cluster("prometheus_adaptor"),
    ),
    "a name that is not used": (
        "  address: http://p:9090\n  username: me",
        "metrics.basicauth: " + words.NO_BASICAUTH,
    ),
    "a password that is not used": (
        "  address: http://p:9090\n  passwordEnv: PASSWORD",
        "metrics.basicauth: " + words.NO_BASICAUTH,
    ),
    "queries that nobody makes": (
        "  type: metrics_server\n  queries.cpu: x",
        "metrics.queries: " + words.NO_QUERIES,
    ),
}


@pytest.mark.parametrize(("block", "warning"), SURPRISES.values(), ids=SURPRISES.keys())
def test_what_would_surprise_is_told(block: str, warning: str, registry: Registry) -> None:
    assert load(block, registry).warnings == (f"policy.yaml:3: {warning}",)
