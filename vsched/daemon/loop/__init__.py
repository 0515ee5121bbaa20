"""Sessions: one after another, each decided and carried out."""
