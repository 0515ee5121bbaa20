"""Certificates that replicas make and renew together, in a Secret that is there already."""

from __future__ import annotations

import ssl
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from vsched.clock import FakeClock
from vsched.daemon.options import Options, check
from vsched.daemon.system.authority import is_due, new_pair
from vsched.daemon.system.certificates import DAYS, CertificateKeeper
from vsched.daemon.words import options as words
from vsched.errors import BadInput
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.together import together

NAMES = ("vsched.batch.svc", "vsched-leader.batch.svc")
DAY = 86_400.0
Obj = dict[str, Any]
SECRET: Obj = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "certificate", "namespace": "default"}}
HOOK: Obj = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "vsched"},
    "webhooks": [
        {
            "name": f"{name}.vsched.io",
            "clientConfig": {"service": {"namespace": "default", "name": "vsched", "path": "/x"}},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "rules": [],
        }
        for name in ("jobs", "consumers")
    ],
}


def test_a_pair_is_due_after_two_thirds_of_its_time_and_for_other_names() -> None:
    pair = new_pair(NAMES, 0.0, 90.0, None)
    assert not is_due(pair, NAMES, 59.9 * DAY)
    assert is_due(pair, NAMES, 60.1 * DAY)
    assert is_due(pair, (*NAMES, "another.svc"), 0.0)
    assert is_due(pair._replace(certificate=b"nothing"), NAMES, 0.0)


async def test_replicas_share_a_pair_and_the_one_before_is_still_trusted_after_a_renewal(tmp_path: Path) -> None:
    clock = FakeClock(1_000 * DAY)
    async with (
        Cluster(settings=ClusterSettings(None), manifests=[SECRET, HOOK]) as cluster,
        ApiClient(Connection(cluster.url)) as client,
    ):
        keepers = [CertificateKeeper(options(tmp_path / name), client, clock) for name in ("a", "b")]
        await together(*(keeper.keep() for keeper in keepers))
        first = files(tmp_path / "a")
        assert first == files(tmp_path / "b")
        assert trusted(cluster) == 1
        clock.advance((DAYS / 2) * DAY)
        await keepers[0].keep()
        assert files(tmp_path / "a") == first
        clock.advance((DAYS / 4) * DAY)
        await keepers[0].keep()
        assert files(tmp_path / "a") != first == files(tmp_path / "b")
        assert trusted(cluster) == 2
        await keepers[1].keep()
        assert files(tmp_path / "a") == files(tmp_path / "b")
        for name in ("a", "b"):
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tmp_path / name / "crt", tmp_path / name / "key")


def options(folder: Path) -> Options:
    folder.mkdir()
    return Options(
        tls_secret="default/certificate",
        tls_names=NAMES,
        webhook_configuration="vsched",
        tls_cert_file=folder / "crt",
        tls_key_file=folder / "key",
    )


def files(folder: Path) -> tuple[bytes, ...]:
    assert (folder / "key").stat().st_mode & 0o077 == 0
    return tuple((folder / name).read_bytes() for name in ("crt", "key"))


def trusted(cluster: Cluster) -> int:
    """How many authorities the API server trusts, by every webhook the same."""
    hook = cluster.client.get("admissionregistration.k8s.io/validatingwebhookconfigurations", "", "vsched")
    assert hook is not None
    (bundle,) = {each["clientConfig"]["caBundle"] for each in hook["webhooks"]}
    assert len(hook["webhooks"]) == len(HOOK["webhooks"])
    return b64decode(bundle).count(b"BEGIN CERTIFICATE")


def test_options_that_do_not_go_together_are_refused() -> None:
    for bad, says in (
        ({"tls_secret": "a/b"}, words.SECRET_WITHOUT_NAMES),
        ({"tls_names": ("a",)}, words.NAMES_WITHOUT_SECRET),
    ):
        with pytest.raises(BadInput) as caught:
            check(Options(**bad))  # type: ignore[arg-type]
        assert str(caught.value) == says
