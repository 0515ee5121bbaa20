"""All that the web server says, by where it says it; the help of metrics stands in ``vsched/web/metrics``."""
