"""Packages, built twice and compared, checked, and installed where nothing else is; the executable, packed."""

from __future__ import annotations

import gzip
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Mapping
from pathlib import Path

from helm.release.changes import ReleaseError
from helm.release.metadata import REPOSITORY, TOP

PACKAGES = (".", "vsched/sim", "vsched/lab")
ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def run(*command: str | Path, where: Path = TOP, env: Mapping[str, str] | None = None) -> str:
    """What a command prints; raises ReleaseError with what it says where it fails."""
    line = [str(word) for word in command]
    done = subprocess.run(line, cwd=where, env={**os.environ, **(env or {})}, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseError(f"{' '.join(line)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def packages(out: Path, scratch: Path, repository: str, epoch: int) -> list[Path]:
    """The source archive and the wheels of all three packages, built from it, in ``out``.

    All are built twice, in two folders: raises ReleaseError where one differs from the other in a byte.
    """
    env = {REPOSITORY: repository, "SOURCE_DATE_EPOCH": str(epoch)}
    again = scratch / "again"
    for folder in (out, again):
        _hatchling("sdist", TOP, folder, env)
        (source,) = folder.glob("vsched-*.tar.gz")
        with tarfile.open(source) as packed:
            packed.extractall(unpacked := scratch / f"unpacked-{folder.name}", filter="data")
        (checkout,) = unpacked.iterdir()
        for package in PACKAGES:
            _hatchling("wheel", checkout / package, folder, env)
    built = [out / path.name for path in sorted(again.iterdir()) if path.is_file()]
    for path in built:
        if path.read_bytes() != (again / path.name).read_bytes():
            raise ReleaseError(f"{path.name}: built twice, it is not the same")
    run(sys.executable, "-m", "twine", "check", "--strict", *built)
    return built


def _hatchling(target: str, folder: Path, out: Path, env: Mapping[str, str]) -> None:
    run(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", out, where=folder, env=env)


def installed(wheels: Path, version: str, scratch: Path, extra: str) -> Path:
    """The Python of an environment of its own with vsched from these wheels, and an extra; it was tried."""
    folder = scratch / f"bare{extra}"
    venv.create(folder, clear=True)
    python = folder / "bin/python"
    what = f"vsched[{extra}]=={version}" if extra else f"vsched=={version}"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--find-links", wheels, what)
    run(sys.executable, "-m", "pip", "--python", python, "check")
    plan = ("plan", "-f", TOP / "config/samples/fair-share-1.yaml", "-o", "json")
    run(folder / "bin/vsched", *plan, where=scratch)
    if extra:
        run(folder / "bin/vsched", "cluster", "--help", where=scratch)
    return python


def bill(python: Path, package: Path, path: Path, version: str) -> Path:
    """What is installed there for a package, by its folder, as a CycloneDX document: the same for the same packages."""
    says = ("--pyproject", TOP / package / "pyproject.toml", "--mc-type", "application", "--output-reproducible")
    told = run(sys.executable, "-m", "cyclonedx_py", "environment", python, *says, "--of", "JSON", "-o", "-")
    document = json.loads(told)
    document["metadata"]["component"]["version"] = version  # it is dynamic, so pyproject.toml does not say it
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return path


def archive(executable: Path, out: Path, version: str, epoch: int) -> Path:
    """The executable and the licence, packed for this platform; without times and owners of this machine."""
    machine = ARCHITECTURES.get(platform.machine().lower(), platform.machine())
    path = out / f"vsched-{version}-{platform.system().lower()}-{machine}.tar.gz"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, source, mode in (("vsched", executable, 0o755), ("LICENSE", TOP / "LICENSE", 0o644)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = source.stat().st_size, mode, epoch
            with source.open("rb") as data:
                tar.addfile(entry, data)
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=epoch))
    return path


def signed(path: Path, by: str) -> Path:
    """The signature of a file beside it: ``gpg:KEY``, or ``cosign`` (COSIGN_KEY, else without a key)."""
    program, _, key = by.partition(":")
    if program not in ("gpg", "cosign"):
        raise ReleaseError(f"--sign: expected gpg:KEY or cosign, is {by!r}")
    if shutil.which(program) is None:
        raise ReleaseError(f"--sign {by}: {program} is not installed")
    if program == "gpg":
        made = path.with_name(f"{path.name}.asc")
        run("gpg", "--batch", "--yes", "--armor", "--local-user", key, "--output", made, "--detach-sign", path)
        return made
    made = path.with_name(f"{path.name}.sigstore.json")
    chosen = ("--key", os.environ["COSIGN_KEY"]) if "COSIGN_KEY" in os.environ else ()
    run("cosign", "sign-blob", "--yes", *chosen, "--bundle", made, path)
    return made
