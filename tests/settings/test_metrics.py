"""The metrics block: flat and nested, typed, and quiet about passwords."""

from __future__ import annotations

import json

import pytest

from vsched.framework.registry import Registry
from vsched.settings import Settings, load_text

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


def test_both_names_of_the_custom_metrics_source_are_one(registry: Registry) -> None:
    metrics = load("  type: prometheus_adapt", registry).metrics
    assert metrics is not None
    assert metrics.type == "prometheus_adaptor"


def test_no_type_collects_nothing_and_says_so(registry: Registry) -> None:
    settings = load("  interval: 10s", registry)
    assert settings.metrics is not None
    assert settings.metrics.type is None
    assert settings.warnings == ("policy.yaml:3: metrics: no type is given, so no usage would be collected",)


def test_no_block_is_no_source(registry: Registry) -> None:
    settings = load_text("actions: allocate\ntiers: [{plugins: [{name: gang}]}]", "policy.yaml", registry)
    assert settings.metrics is None
    assert settings.warnings == ()
