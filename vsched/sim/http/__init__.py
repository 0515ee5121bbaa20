"""HTTP/1.1 for the embedded cluster: requests out of bytes, connections that answer at once where they can."""
