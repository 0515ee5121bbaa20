"""``python -m vsched``: the same as ``vsched``."""

from vsched.cli import main

main()
