"""What the model says of what it cannot read, and collectors of sources that fail."""

from __future__ import annotations

from vsched.collectors import words as collectors
from vsched.model import words as model

SENTENCES = [
    # model/words
    (
        model.not_a_quantity("many"),
        "'many' is not a quantity (expected a number with an optional suffix, such as 500m, 2, 1.5Gi)",
    ),
    (
        model.too_many_unknown_resources("x", 64),
        "x: no node offers it, and 64 others that none offers are asked for (expected fewer)",
    ),
    (model.negative("cpu", "-1"), "cpu: '-1' is negative (expected zero or more)"),
    (model.shorter_than_a_second("1ms"), "1ms is shorter than a second"),
    (model.not_a_duration("1x"), "failed to parse duration 1x"),
    (model.not_5_fields(4, ["a", "b", "c", "d"]), "expected exactly 5 fields, found 4: ['a', 'b', 'c', 'd']"),
    (model.not_a_schedule("61 * * * *"), "failed to parse 61 * * * *"),
    (model.never_comes("0 0 30 2 *"), "0 0 30 2 * never comes"),
    (model.would_hold_too_much("queue q", "8 cpu", "9 cpu"), "queue q may hold 8 cpu; this would make 9 cpu"),
    (
        model.pool_lacks_devices("h100", "gpu.example.com", 2, 1),
        "pool h100 of gpu.example.com: 2 devices announced, and 1 are there",
    ),
    (model.claims_point_to(-1), "claims point to -1 (expected 0 or more)"),
    (model.VSCHED_DUMP_WRITES_THEM, " (vsched dump writes them)"),
    (model.not_a_recording(model.VSCHED_DUMP_WRITES_THEM), "is not a recording (vsched dump writes them)"),
    (model.not_a_recording(f": {model.CUT_OFF}"), "is not a recording: it is cut off"),
    (
        model.not_a_recording_of_kind("vsched recording"),
        "is not a recording (expected JSON with kind 'vsched recording', as vsched dump writes it)",
    ),
    (model.other_format(1, 3), "is a recording of format 1, and this vsched reads format 3"),
    (model.broken(model.INPUT_WAS_TRUNCATED), "is a recording that is broken: Input data was truncated"),
    (
        model.parts_do_not_belong_together("it is gone"),
        "is a recording that is broken: its parts do not belong together (it is gone)",
    ),
    (model.not_gzip("it is gone"), "is not a recording: not gzip after all: it is gone"),
    (model.unpacks_to_more(64), "is not a recording: its gzip unpacks to more than 64 MiB"),
    (model.CUT_OFF_GZIP, "is a recording that is cut off: the end of its gzip is missing"),
    (model.CUT_OFF, "it is cut off"),
    (model.JSON_IS_MALFORMED, "JSON is malformed"),
    (model.INPUT_WAS_TRUNCATED, "Input data was truncated"),
    (model.amounts_of_other_resources(64), "amounts of nodes are not of the same resources (expected 3 to 64 of them)"),
    (model.not_an_amount_each("cpu", 3), "nodes: cpu: expected an amount for each of 3 nodes"),
    (model.YOUNG_PODS, "usage: young pods: expected a row, a shape and a start of each"),
    (model.YOUNG_POD_OF_NO_SHAPE, "usage: young pods: one is on no node, or of no shape"),
    (model.not_a_figure_each(3), "usage: expected a figure for each of 3 nodes"),
    (model.NOT_A_COUNT_EACH, "placed pods: expected a count for each node"),
    (model.not_its_key("jobs", "team/a"), "report: jobs: 'team/a' is not the key of what it leads to"),
    (
        model.record_has_no_field("a report", "spare"),
        "a report has no field 'spare' here (was it made by a newer vsched?)",
    ),
    (model.VERDICT_ABOUT_NO_POD, "a verdict is about no pod"),
    (model.too_many_strays(77, 8), "77 of 8 jobs are strays"),
    (
        model.record_has_no_field("a snapshot", "spare"),
        "a snapshot has no field 'spare' here (was it made by a newer vsched?)",
    ),
    (model.usage_history(ValueError(model.CUT_OFF_OR_TOO_LARGE)), "usage history: it is cut off, or too large"),
    (model.no_job_among("team/x", "active"), "'team/x' is among the active jobs, and is no job"),
    (model.sums_of_other_resources(3), "sums of nodes are not of the 3 resources that nodes have"),
    (model.no_such_column(3, 3), "a request has a column 3, and there are 3 resources"),
    (model.too_many_rows(9, 64), "a piece of a table has 9 rows (expected up to 64)"),
    (model.record_has_no_field("Task", "spare"), "Task has no field 'spare' here (was it made by a newer vsched?)"),
    (model.points_to("Task", "shape", -1), "Task.shape points to -1 (expected 0 or more)"),
    (model.POINTS_TO_NO_VALUE, "a column points to values that it does not have"),
    (model.too_few_values(3, 9), "a column has 3 values where 9 were announced"),
    (model.CUT_OFF_OR_TOO_LARGE, "it is cut off, or too large"),
    (model.other_version(3, 3), "its format has version 3 (expected 3)"),
    (model.cannot_be_decompressed("it is gone"), "it cannot be decompressed: it is gone"),
    (model.cannot_be_read(ValueError("it is gone")), "it cannot be read: it is gone"),
    (model.NO_CLUSTER, "the first holder is not the cluster"),
    (model.TWICE, "a holder or a resource is there twice"),
    (model.NOT_ABOVE_0, "a half-life or a window is not above 0"),
    (model.NO_TIMES, "its times are no times"),
    (model.NOT_FINITE, "a sum is not a finite number of at least 0"),
    (model.SUMS_NOT_OF_ALL_HOURS, "its sums are not of all holders, resources and hours"),
    (model.SUMS_NOT_OF_ALL, "decayed sums are not of all holders and resources"),
    (model.sums_of_an_hour(3, 3, 9), "an hour has 3 sums for row 3, of 9 rows"),
    (model.NOT_HAD, "what its gang claims could not be had: "),
    (model.WOULD_START, "; would start with "),
    (
        model.nodes_are_asked_for("ProvisioningRequest train-1", ": it takes a while"),
        "nodes are asked for by ProvisioningRequest train-1: it takes a while",
    ),
    (
        model.provisioned("ProvisioningRequest train-1"),
        "ProvisioningRequest train-1 is provisioned, and its nodes are on their way",
    ),
    (
        model.asked_for_again("ProvisioningRequest train-1", ": none left", "at 14:05 UTC"),
        "ProvisioningRequest train-1 failed: none left; nodes are asked for again at 14:05 UTC",
    ),
    (
        model.given_up(1, "train-1", ""),
        "its ProvisioningRequest failed, the last was train-1; delete it to have nodes asked for again",
    ),
    (
        model.given_up(4, "train-4", ": none left"),
        "4 ProvisioningRequests failed, the last was train-4: none left; delete it to have nodes asked for again",
    ),
    (model.DISKS, "disks that pods name without a claim, and that one node has at a time"),
    (model.OLD_PODGROUPS, "PodGroups as Kubernetes 1.35 had them (spec.workloadRef)"),
    (model.LOST_PRIORITY_CLASSES, "PriorityClasses that do not exist"),
    (model.OTHER_PODS, "the other pods"),
    # collectors/words
    (
        collectors.no_prometheus_adapter("https://api", "g1"),
        "https://api serves no g1: is the Prometheus adapter installed, and its APIService available?",
    ),
    (
        collectors.served_as_other_version("custom.metrics.k8s.io", "v2", "v1beta2 or v1beta1"),
        "custom.metrics.k8s.io is served as v2; expected v1beta2 or v1beta1",
    ),
    (collectors.no_such_metric("cpu", "it is gone"), "nodes have no metric cpu: it is gone"),
    (collectors.search_out_of_time("0"), "0: the search ran out of time"),
    (collectors.all_shards_failed("0", 2), "0: all 2 shards failed"),
    (collectors.no_such_index("0"), "0: the index does not exist"),
    (collectors.redirects("spec.x[0]", 137, "https://other"), "spec.x[0]: 137: redirects to https://other"),
    (collectors.answer_too_long("spec.x[0]", 64), "spec.x[0]: the answer is longer than 64 MiB"),
    (collectors.web_page("spec.x[0]"), "spec.x[0]: answered with a web page, not JSON; is the address right?"),
    (
        collectors.unreadable("spec.x[0]", "it is gone", '{"data":'),
        "spec.x[0]: it is gone; the answer starts with '{\"data\":'",
    ),
    (collectors.no_metrics_server("https://api", "g1"), "https://api serves no g1: is the metrics server installed?"),
    (collectors.no_range("cpu", "vector"), "cpu: the query gives a vector, expected a range (a matrix)"),
    (collectors.no_answer_within("script", 5), "script: no answer within 5 s"),
    (collectors.figures_from_the_future(2, 3), "the figures of 2 of 3 nodes are from the future: a clock is wrong"),
    (collectors.knows_none_of(3, "a, b"), "it knows none of the 3 nodes, only a, b: check instanceLabel and nodeLabel"),
    (collectors.no_figures_of(3), "it has figures of none of the 3 nodes"),
    (collectors.no_vector("cpu", "matrix"), "cpu: the query gives a matrix, expected one number a node (a vector)"),
    (collectors.NO_LABEL, "no label at all"),
    (
        collectors.series_without_label("cpu", "instance", "node, pod"),
        "cpu: there are series without instance (instanceLabel); they have node, pod",
    ),
    (collectors.no_environment_variable("x"), "the environment variable x is not set"),
    (collectors.no_key("spec.x[0]", "zone"), "spec.x[0]: has no key zone"),
    (collectors.no_base64("spec.x[0]", "zone"), "spec.x[0]: zone is not text in base64"),
    (collectors.no_text("/etc/token"), "/etc/token: is not text"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
