"""What a policy may have read for it: who may edit the policy need not be who runs the daemon.

A policy says where node usage comes from and what to log in with there. Without bounds its author could have any file,
variable or Secret that the daemon can read sent to an address of their choice.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from pathlib import PurePosixPath

import msgspec

from vsched.settings.metrics import Hidden, MetricsSource
from vsched.settings.words import files as words
from vsched.words import AN_ALLOWED_DIRECTORY


class Reach(msgspec.Struct, frozen=True):
    """Which files, variables of the environment and Secrets a policy may name."""

    directories: tuple[str, ...] | None = ()
    """Files below these; None for any file."""
    env_prefix: str = ""
    """Variables whose names begin with this."""
    namespaces: frozenset[str] | None = frozenset()
    """Secrets of these; None for any namespace."""

    def problems(self, source: MetricsSource) -> Iterator[tuple[str, str]]:
        """What is out of reach: where in the block, and why."""
        hidden = {
            "password": source.hidden_password,
            "token": source.hidden_token,
            "elasticsearch.password": source.elasticsearch.hidden_password,
        }
        for where, each in hidden.items():
            yield from self._of_hidden(where, each)
        tls = source.tls
        files = {"tls.caFile": tls.ca_file, "tls.certFile": tls.cert_file, "tls.keyFile": tls.key_file}
        for where, file in files.items():
            yield from self._of_file(where, file)

    def _of_hidden(self, where: str, hidden: Hidden) -> Iterator[tuple[str, str]]:
        yield from self._of_file(f"{where}File", hidden.file)
        if hidden.env and not hidden.env.startswith(self.env_prefix):
            yield (
                f"{where}Env",
                words.name_not_allowed(hidden.env, self.env_prefix),
            )
        secret = hidden.secret
        if secret.name and self.namespaces is not None and secret.namespace not in self.namespaces:
            allowed = " or ".join(sorted(self.namespaces)) or words.ALLOWED_NAMESPACE
            found = f"{secret.namespace}/{secret.name}"
            yield f"{where}Secret", words.secret_not_allowed(found, allowed)

    def _of_file(self, where: str, file: str) -> Iterator[tuple[str, str]]:
        if not file or self.directories is None:
            return
        # Links are resolved when the file is read; here nothing is.
        plain = PurePosixPath(os.path.normpath(file))
        if not any(plain.is_relative_to(os.path.normpath(directory)) for directory in self.directories):
            allowed = " or ".join(self.directories) or AN_ALLOWED_DIRECTORY
            yield where, words.file_not_allowed(file, allowed)


NOTHING = Reach()
ANYTHING = Reach(directories=None, namespaces=None)
"""No restriction: for commands that people run with their own files, under their own account."""
