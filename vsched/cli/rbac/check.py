"""Asks the API server which rights the own account has, by SelfSubjectAccessReviews, which any account may make."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from vsched.daemon.permissions.needs import Right
from vsched.kube.client import ApiClient
from vsched.kube.paths import ApiResource
from vsched.together import together

REVIEWS = ApiResource("authorization.k8s.io", "v1", "selfsubjectaccessreviews", namespaced=False)
AT_ONCE = 16


async def lacking(client: ApiClient, rights: Sequence[Right]) -> list[Right]:
    """Those of the rights that the account of this client does not have."""
    found, left = [], iter(rights)
    while some := list(islice(left, AT_ONCE)):
        answers = await together(*(_may(client, right) for right in some))
        found += [right for right, may in zip(some, answers, strict=True) if not may]
    return found


async def _may(client: ApiClient, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": right.namespace,
        "name": right.name,
    }
    review = {
        "apiVersion": REVIEWS.api_version,
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.create(REVIEWS.path(), review)
    return bool(answer["status"]["allowed"])
