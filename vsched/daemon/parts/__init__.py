"""The parts of a daemon in groups, each made of those below it; ``app`` puts them together."""
