"""The validation rules that custom resource definitions write in CEL."""
