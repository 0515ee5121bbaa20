"""Objects as the tables that kubectl prints."""
