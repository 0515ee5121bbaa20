"""YAML text to typed values, with the line of every mistake."""
