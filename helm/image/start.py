"""Where the one-file executable begins."""

from __future__ import annotations

from vsched.cli import main

main()
