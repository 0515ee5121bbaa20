"""CEL, and the validation rules written in it."""
