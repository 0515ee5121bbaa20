"""A cluster in a bottle: daemons, API server, controllers and users in one process, on virtual time, from one seed."""
