"""Label selectors: every operator, and what is no selector."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import KindRegistry
from vsched.apimachinery.meta.label_selectors import matches_label_selector
from vsched.sim.store.selectors import selector_for

PODS = KindRegistry().resource("pods")
LABELS = {"app": "web", "tier": "", "size": "7", "example.com/zone": "a"}

MATCHES = {
    "app=web": True,
    "app==web": True,
    "app=db": False,
    "app!=db": True,
    "missing!=x": True,
    "app in (web, db)": True,
    "app in (db)": False,
    "app in ()": False,
    "app notin (db)": True,
    "missing notin (x)": True,
    "app": True,
    "!app": False,
    "!missing": True,
    "tier=": True,
    "size>6": True,
    "size<7": False,
    "app>1": False,
    "missing>1": False,
    "app=web,size>6,!missing": True,
    "app=web,missing": False,
    "example.com/zone=a": True,
}


@pytest.mark.parametrize(("text", "expected"), MATCHES.items(), ids=MATCHES)
def test_label_selector(text: str, expected: bool) -> None:
    selector = selector_for(PODS, text, "")
    assert selector is not None
    assert selector.matches({"metadata": {"labels": LABELS}}) is expected


@pytest.mark.parametrize("text", ["a==-b", "a in", "a in (b", "=b", "a=b,", "a>b", "a b", "a=b=c", "-a", "a in (b c)"])
def test_what_is_no_label_selector_is_refused(text: str) -> None:
    with pytest.raises(Failure) as refusal:
        selector_for(PODS, text, "")
    assert refusal.value.code == 400


@given(st.text(alphabet="ab=!,()<> in", max_size=20))
def test_any_text_is_a_selector_or_a_bad_request(text: str) -> None:
    try:
        selector = selector_for(PODS, text, "")
    except Failure:
        return
    assert selector is None or selector.matches({"metadata": {}}) in (True, False)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
    ],
    ids=["none at all", "an empty one", "a label", "another label", "an expression", "an absent key"],
)
def test_the_selector_of_a_spec(selector: dict[str, object] | None, expected: bool) -> None:
    assert matches_label_selector(selector, LABELS) is expected
