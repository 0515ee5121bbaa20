"""How a version is built, described, checked and signed."""
