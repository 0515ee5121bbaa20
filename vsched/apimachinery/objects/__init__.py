"""Objects as they are sent and stored: decoding, defaults, custom kinds."""
