"""The policy file as typed values: text to Settings with every mistake reported, and Settings back to text."""

from __future__ import annotations

from vsched.settings.load import default_settings, load_file, load_text
from vsched.settings.settings import Settings

__all__ = ["Settings", "default_settings", "load_file", "load_text"]
