"""What an API server and its controllers make of objects: kinds, defaults, validation, admission, pods. Pure."""
