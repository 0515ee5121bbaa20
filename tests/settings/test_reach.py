"""What a policy may name: files below a directory, variables with a prefix, Secrets of a namespace."""

from __future__ import annotations

import pytest

from vsched.errors import BadPolicy
from vsched.settings.built_in import REGISTRY
from vsched.settings.load import load_text
from vsched.settings.reach import NOTHING, Reach
from vsched.settings.words import files as words

SOME = Reach(("/etc/vsched",), "VSCHED_SOURCE_", frozenset({"batch"}))


def metrics(text: str) -> str:
    return f"actions: allocate\ntiers:\n- plugins: [{{name: gang}}]\nmetrics:\n  address: https://p:9090\n  {text}\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("tokenFile: /etc/vsched/token", id="a file below the directory"),
        pytest.param("tokenFile: /etc/vsched/a/../token", id="a file below it, the long way round"),
        pytest.param("tokenEnv: VSCHED_SOURCE_TOKEN", id="a variable with the prefix"),
        pytest.param("tokenSecret: {namespace: batch, name: s, key: k}", id="a Secret of the namespace"),
        pytest.param("tls: {caFile: /etc/vsched/ca.pem}", id="an authority below the directory"),
    ],
)
def test_what_is_within_reach_is_taken(text: str) -> None:
    assert load_text(metrics(text), "p", REGISTRY, reach=SOME).metrics is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            "tokenFile: /etc/shadow",
            "metrics.tokenFile: " + words.file_not_allowed("/etc/shadow", "/etc/vsched"),
            id="another file",
        ),
        pytest.param(
            "tokenFile: /etc/vsched/../shadow", "metrics.tokenFile: '/etc/vsched/../shadow'", id="a way out by dots"
        ),
        pytest.param("tokenFile: /etc/vsched-other/token", "metrics.tokenFile", id="a directory that begins alike"),
        pytest.param("tokenFile: token", "metrics.tokenFile: 'token'", id="a file of wherever it was started"),
        pytest.param(
            "{basicauth: true, username: u, passwordFile: /etc/shadow}", "metrics.passwordFile", id="a password"
        ),
        pytest.param(
            "elasticsearch: {username: u, passwordEnv: HOME}",
            "metrics.elasticsearch.passwordEnv: " + words.name_not_allowed("HOME", "VSCHED_SOURCE_"),
            id="another variable",
        ),
        pytest.param(
            "tokenSecret: {namespace: kube-system, name: s, key: k}",
            "metrics.tokenSecret: " + words.secret_not_allowed("kube-system/s", "batch"),
            id="a Secret of another namespace",
        ),
        pytest.param("tls: {caFile: /dev/zero}", "metrics.tls.caFile", id="another authority"),
        pytest.param("tls: {certFile: /a, keyFile: /etc/vsched/k}", "metrics.tls.certFile", id="another certificate"),
        pytest.param("tls: {certFile: /etc/vsched/c, keyFile: /k}", "metrics.tls.keyFile", id="another key"),
    ],
)
def test_what_is_out_of_reach_is_refused_with_its_line(text: str, problem: str) -> None:
    if text.startswith("{"):
        text = text.strip("{}").replace(", ", "\n  ")
    with pytest.raises(BadPolicy) as caught:
        load_text(metrics(text), "p", REGISTRY, reach=SOME)
    assert any(line.startswith("p:4: ") and problem in line for line in caught.value.problems)


def test_nothing_is_within_reach_unless_somebody_says_so() -> None:
    for text in ("tokenFile: /t", "tokenSecret: {namespace: batch, name: s, key: k}"):
        with pytest.raises(BadPolicy, match="allowed"):
            load_text(metrics(text), "p", REGISTRY, reach=NOTHING)
