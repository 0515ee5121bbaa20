"""CEL, and the validation rules that custom resource definitions write in it."""
