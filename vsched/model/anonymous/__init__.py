"""Made-up names in place of real ones."""
