"""All that is said of policies and of the files that they name, by what it is about."""
