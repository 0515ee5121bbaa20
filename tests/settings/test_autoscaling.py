"""The section ``autoscaling`` of the policy."""

from __future__ import annotations

import pytest

from vsched.errors import BadPolicy
from vsched.framework.policy import Autoscaling
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY
from vsched.settings.describe import describe_lines
from vsched.settings.diff import changes
from vsched.settings.document import policy_text

PLAIN = "actions: allocate\ntiers:\n- plugins: [{name: gang}]\n"
WHOLE = """
autoscaling:
  provisioningRequest: true
  class: queued-provisioning.gke.io
  parameters: {ValidUntilSeconds: "600", maxRunDurationSeconds: "3600"}
  retries: 5
  backOff: 2m
  longestBackOff: 1h
  holdEvictions: 5m
  keepNodes: 20m
"""


def read(text: str) -> Autoscaling:
    return load_text(PLAIN + text, "policy", REGISTRY).policy.autoscaling


def test_a_policy_without_it_asks_by_the_conditions_of_pods() -> None:
    assert read("") == read("autoscaling: {}") == Autoscaling()
    assert not Autoscaling().provisioning_request


def test_everything_that_it_may_say() -> None:
    assert read(WHOLE) == Autoscaling(
        provisioning_request=True,
        class_name="queued-provisioning.gke.io",
        parameters={"ValidUntilSeconds": "600", "maxRunDurationSeconds": "3600"},
        retries=5,
        back_off=120.0,
        longest_back_off=3600.0,
        hold_evictions=300.0,
        keep_nodes=1200.0,
    )


def test_it_is_written_as_it_is_read() -> None:
    settings = load_text(PLAIN + WHOLE, "policy", REGISTRY)

    assert load_text(policy_text(settings.policy), "again", REGISTRY).policy == settings.policy
    assert "  class: queued-provisioning.gke.io" in describe_lines(settings, REGISTRY)
    assert "autoscaling" in changes(load_text(PLAIN, "policy", REGISTRY), settings)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("autoscaling: yes please", "autoscaling: expected a mapping", id="no mapping"),
        pytest.param("autoscaling: {retrys: 3}", "did you mean 'retries'?", id="a typing error"),
        pytest.param("autoscaling: {retries: -1}", "autoscaling.retries", id="a number below 0"),
        pytest.param("autoscaling: {backOff: soon}", "autoscaling.backOff", id="no time"),
        pytest.param('autoscaling: {class: ""}', "autoscaling.class", id="no class"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(BadPolicy, match="policy:4") as found:
        read(text)
    assert problem in str(found.value)
