"""Discovery, OpenAPI and the other paths that are not resources."""
