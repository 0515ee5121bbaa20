"""The archive of the executable, signatures, the image, and the workflow."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml

from helm.release.building import archive, signed
from helm.release.changes import ReleaseError
from tests.support.pages import TOP

DOCKER = """#!/bin/sh
echo "$@" >>"$(dirname "$0")/asked"
case "$*" in *inspect*) echo sha256:c0ffee ;; esac
"""


def test_an_archive_is_the_same_each_time_and_runs(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho works\n", encoding="utf-8")
    made = archive(program, tmp_path, "0.1.0", 1_700_000_000)
    first = made.read_bytes()
    program.touch()
    assert archive(program, tmp_path, "0.1.0", 1_700_000_000).read_bytes() == first
    with tarfile.open(made) as packed:
        packed.extractall(tmp_path / "out", filter="data")
    assert subprocess.run([tmp_path / "out/vsched"], capture_output=True, text=True).stdout == "works\n"
    assert (tmp_path / "out/LICENSE").read_bytes() == (TOP / "LICENSE").read_bytes()


@pytest.mark.skipif(shutil.which("gpg") is None, reason="gpg is not installed")
def test_a_signature_by_gpg_holds_for_the_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "keys"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    key = ("gpg", "--batch", "--passphrase", "", "--quick-gen-key", "Test <t@example.com>", "ed25519", "sign", "1d")
    subprocess.run(key, capture_output=True, check=True, timeout=60)
    try:
        sums = tmp_path / "SHA256SUMS"
        sums.write_text("one", encoding="utf-8")
        check = ("gpg", "--verify", signed(sums, "gpg:t@example.com"), sums)
        assert subprocess.run(check, capture_output=True).returncode == 0
        sums.write_text("two", encoding="utf-8")
        assert subprocess.run(check, capture_output=True).returncode != 0
    finally:
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], capture_output=True)


@pytest.mark.parametrize(
    ("by", "says"),
    [
        pytest.param("pgp:me", "expected gpg:KEY or cosign, is 'pgp:me'", id="another program"),
        pytest.param("cosign", "cosign is not installed", id="a program that is not there"),
    ],
)
def test_a_signature_that_cannot_be_made_is_refused(
    by: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReleaseError, match=says):
        signed(tmp_path / "SHA256SUMS", by)


def test_the_image_is_built_on_a_base_named_by_its_digest_and_gets_one_name(tmp_path: Path) -> None:
    docker = tmp_path / "docker"
    docker.write_text(DOCKER, encoding="utf-8")
    docker.chmod(0o755)
    for action in (["image-push"], ["image-index", "PLATFORMS=amd64 arm64"]):
        make = ["make", "-C", str(TOP), *action, f"DOCKER={docker}", "IMAGE=r/vsched:1"]
        done = subprocess.run(make, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    base = re.findall(r"^ARG BASE=(.*)$", (TOP / "helm/image/Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)[0]
    assert f"--build-arg BASE={base}@sha256:c0ffee --sbom=true --provenance=mode=max --push -t r/vsched:1-" in asked
    assert "imagetools create -t r/vsched:1 r/vsched:1-amd64 r/vsched:1-arm64" in asked


def test_the_workflow_makes_what_the_makefile_has_and_holds_no_secret() -> None:
    text = (TOP / ".github/workflows/release.yml").read_text(encoding="utf-8")
    made = {
        word
        for job in yaml.safe_load(text)["jobs"].values()
        for step in job["steps"]
        for word in re.findall(r"make ([\w-]+)", step.get("run", ""))
    }
    targets = re.findall(r"^([\w-]+):", (TOP / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"release", "release-index", "image-push", "image-index", "docs-version"} == made
    assert made <= set(targets)
    assert "secrets." not in text


def test_packages_say_the_same_of_themselves() -> None:
    projects = [
        tomllib.loads((TOP / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in (".", "vsched/sim", "vsched/lab")
    ]
    first, *others = ({key: each[key] for key in ("classifiers", "requires-python", "license")} for each in projects)
    assert others == [first, first]


def test_every_page_is_in_the_site() -> None:
    listed = re.findall(r"([\w./-]+\.md)$", (TOP / "helm/release/mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    told = subprocess.run(["git", "ls-files", "*.md"], cwd=TOP, capture_output=True, text=True, check=True)
    assert sorted(listed) == sorted(told.stdout.split())
