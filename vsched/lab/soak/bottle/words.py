"""What is said about bottles."""

NOTHING_PLANNED = "nothing is planned any more: whoever waits would wait for ever"
DAEMON_DIED = "daemon died"
ERROR_IN_LOG = "error in a log"
STEP_FAILED = "step failed"
NEVER_BOUND = "never bound"
PARTIAL = "partial gang"
REQUEST_FAILED = "user's request"
NOTHING_GOES_WRONG = "from now on nothing goes wrong"


def not_one_document(path: object, count: int) -> str:
    """A file of faults with too many or no documents."""
    return f"{path}: expected one document, found {count}"
