"""Why a job did not start, as a cycle reports it."""
