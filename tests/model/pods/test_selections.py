"""Which selectors of a namespace mean a pod, as one selector: the index against a walk over all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vsched.model.pods.selections import Selections
from vsched.model.pods.shape import PodLabels, Requirement, Selector

KEYS, VALUES = st.sampled_from("abc"), st.sampled_from("xyz")
REQUIREMENTS = st.one_of(
    st.builds(lambda key, values: Requirement(key, "In", tuple(sorted(values))), KEYS, st.sets(VALUES, min_size=1)),
    st.builds(lambda key, value: Requirement(key, "NotIn", (value,)), KEYS, VALUES),
    st.builds(Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
)
SELECTORS = st.lists(
    st.lists(REQUIREMENTS, min_size=1, max_size=3).map(lambda found: Selector(tuple(found))), max_size=6
)
LABELS = st.dictionaries(KEYS, VALUES)


@given(SELECTORS, st.lists(LABELS, max_size=4))
def test_a_pod_is_meant_by_every_selector_that_matches_it(
    selectors: list[Selector], pods: list[dict[str, str]]
) -> None:
    found = Selections(selectors)
    backwards = Selections(reversed(selectors))
    for pod in pods:
        expected = {one for selector in selectors if selector.matches(pod) for one in selector.requirements}
        merged = found.merged(PodLabels("ns", tuple(sorted(pod.items()))))
        assert set(merged.requirements if merged is not None else ()) == expected
        assert (merged is None) is not bool(expected)
        assert merged is None or merged.matches(pod)
        assert merged == backwards.merged(PodLabels("ns", tuple(sorted(pod.items())))), "the order says nothing"
