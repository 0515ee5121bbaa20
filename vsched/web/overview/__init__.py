"""The overview of a session as one document, and the stream of its changes."""
