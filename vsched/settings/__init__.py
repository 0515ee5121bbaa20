"""The policy file, typed: text to Settings with every mistake told, and Settings back to words."""

from __future__ import annotations

from vsched.settings.load import default_settings, load_bytes, load_file, load_text
from vsched.settings.settings import Settings

__all__ = ["Settings", "default_settings", "load_bytes", "load_file", "load_text"]
