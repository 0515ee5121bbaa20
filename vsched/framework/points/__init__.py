"""The extension points that plugins take part in."""
