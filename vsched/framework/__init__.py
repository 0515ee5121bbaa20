"""The scheduling framework: sessions, extension points, the registry, and reports. It names no plugin or action."""
