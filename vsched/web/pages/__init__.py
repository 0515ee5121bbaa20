"""The routes of a daemon and what each answers."""
