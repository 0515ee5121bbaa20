"""What is said about bottles."""

NOTHING_PLANNED = "nothing is planned any more: whoever waits would wait for ever"
