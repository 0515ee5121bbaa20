"""All that explanations say: reasons, and edits as phrases and as shell commands."""
