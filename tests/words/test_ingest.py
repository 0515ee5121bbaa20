"""What is wrong with objects: each sentence of the mirror's reading of them."""

from __future__ import annotations

from vsched.mirror.ingest.words import devices, fields, groups, nodes

SENTENCES = [
    # mirror/ingest/words/devices
    (devices.no_whole_number("many"), "'many' (expected a whole number)"),
    (devices.too_many_words("spec.x", 8, 2000), "metadata.annotations[spec.x]: more than 8 words or 2,000 letters"),
    (devices.long_selectors("spec.x", 2000, 64), "spec.x: 2,000 letters of selectors (64 are read at most)"),
    (devices.neither_exactly_nor_first("spec.x"), "spec.x: neither exactly nor firstAvailable (expected one of them)"),
    (
        devices.unknown_allocation_mode("spec.x", "Some", "ExactCount", "All"),
        "spec.x.allocationMode: 'Some' is unknown (expected ExactCount or All)",
    ),
    (devices.less_than_one_device("spec.x", 0), "spec.x.count: 0 (expected 1 or more)"),
    (devices.no_device_class("spec.x"), "spec.x.deviceClassName: missing (expected the name of a DeviceClass)"),
    (devices.no_attribute("spec.x"), "spec.x: neither matchAttribute nor distinctAttribute (expected one of them)"),
    (devices.MEMORY_OF_GPUS, "memory of gpus"),
    (devices.not_of_containers("spec.x", "nvidia.com/gpu"), "spec.x: nvidia.com/gpu (expected of containers alone)"),
    (
        devices.two_kinds("spec.x", "nvidia.com/gpu", "volcano.sh/vgpu-number"),
        "spec.x: nvidia.com/gpu beside volcano.sh/vgpu-number (expected one kind of devices)",
    ),
    (
        devices.two_kinds_with_npus("spec.x", "nvidia.com/gpu", "huawei.com/", "Ascend910"),
        "spec.x: nvidia.com/gpu beside huawei.com/Ascend910 (expected one kind of devices)",
    ),
    (devices.EACH_KIND_BY_ITSELF, "each kind counts by itself: give each device plugin GPUs of its own"),
    (devices.no_cel("spec.x", 0), "spec.x[0]: no cel (expected a CEL expression)"),
    (devices.selector_not_supported("x"), "spec.deviceSelector.x: not supported (expected driver, pool and device)"),
    (
        devices.unknown_taint_effect("spec.x", "Always", "NoSchedule, NoExecute"),
        "spec.x.effect: 'Always' is unknown (expected NoSchedule, NoExecute)",
    ),
    (devices.devices_left_out(ValueError("it is gone")), "it is gone: its devices are left out"),
    (
        devices.devices_of_annotation_left_out("volcano.sh/x", ValueError("it is gone")),
        "metadata.annotations[volcano.sh/x]: it is gone: its devices are left out",
    ),
    (devices.too_many_letters(20000, 16384), "20,000 letters (16,384 are read at most)"),
    (devices.too_many_devices(65, 64), "65 devices (64 are read at most)"),
    (devices.ONE_UUID, "two devices have one uuid"),
    (devices.no_list_of_devices("many"), "'many' (expected a list of devices)"),
    (devices.no_registered_device("many"), "'many' (expected uuid,sharers,MiB,type,healthy,mode)"),
    (devices.no_bool("many"), "'many' (expected true or false)"),
    (
        devices.too_many_gpus("volcano.sh/gpu-number", 70, 64),
        "status.capacity.volcano.sh/gpu-number: 70 (64 are read at most)",
    ),
    (devices.NO_EFFECT_WITHOUT_VGPUS, "it has no effect on a pod without vGPUs"),
    (devices.no_chosen_device("many"), "'many' (expected uuid,type,MiB,cores)"),
    (devices.no_geometry("many"), "'many' (expected uuid[geometry-position])"),
    (
        devices.npus_left_out("volcano.sh/npu-", "Ascend910", ValueError("it is gone")),
        "metadata.annotations[volcano.sh/npu-Ascend910]: it is gone: its devices are left out",
    ),
    (
        devices.limits_not_of_containers("spec.initContainers", 0, "huawei.com/Ascend910"),
        "spec.initContainers[0].resources.limits: huawei.com/Ascend910 (expected of containers alone)",
    ),
    (
        devices.two_models("huawei.com/Ascend310 beside huawei.com/Ascend910"),
        "huawei.com/Ascend310 beside huawei.com/Ascend910 (expected one model of NPUs)",
    ),
    # mirror/ingest/words/fields
    (fields.too_long("spec.x", 2000, 64), "spec.x: 2,000 letters (64 are read at most)"),
    (
        fields.only_these_opt_in("vsched.io/cooperative-eviction"),
        "metadata.annotations[vsched.io/cooperative-eviction]: only pods and PodGroups opt in: ignored",
    ),
    (fields.TIME, "a time such as 2027-01-15T08:00:00Z"),
    (fields.INT32, "a 32-bit integer"),
    (
        fields.annotation_not_int32("volcano.sh/x", "many"),
        "metadata.annotations[volcano.sh/x]: 'many' (expected a 32-bit integer)",
    ),
    (fields.unknown_word("spec.mode", "Hard", "hard or soft"), "spec.mode: 'Hard' is unknown (expected hard or soft)"),
    (fields.negative_number("spec.tier", -1), "spec.tier: -1 (expected zero or more)"),
    (
        fields.bad_value("PriorityClass c", 1099511627776),
        "PriorityClass c: value: 1099511627776 (expected a 32-bit integer)",
    ),
    (
        fields.PATH_SYNTAX,
        "names with dots between, [*] for every item, [0] for the first one, ['...'] for a name with dots",
    ),
    (
        fields.no_path("x[a]", fields.PATH_SYNTAX),
        "'x[a]' is no path (expected names with dots between, [*] for every item, [0] for the first one, "
        "['...'] for a name with dots)",
    ),
    (
        fields.unknown_phase("Gone"),
        "status.phase: 'Gone' is unknown (expected Pending, Running, Succeeded, Failed or Unknown)",
    ),
    (
        fields.not_guaranteed("spec.x"),
        "spec.x: it has no effect on a pod that is not Guaranteed or has no whole cpus: ignored",
    ),
    (fields.too_many_bytes("spec.x", 4096, 64), "spec.x: 4,096 bytes (64 are read at most)"),
    (fields.unknown_protocol("spec.x", "IP", "TCP, UDP"), "spec.x.protocol: 'IP' is unknown (expected TCP, UDP)"),
    (
        fields.not_supported_yet("spec.volumes[1].rbd", " and 1 more"),
        "spec.volumes[1].rbd and 1 more: not supported yet",
    ),
    (fields.too_heavy("spec.weight", "1e400", 65535), "spec.weight: '1e400' (expected 65535 at most): counts as 65535"),
    # mirror/ingest/words/groups
    (groups.NO_EFFECT, "not supported yet: it has no effect"),
    (groups.PODS_OR_PERCENTAGE, "a number of pods or a percentage, such as 2 or 50%"),
    (groups.no_amounts_by_group("spec.x[0]"), 'spec.x[0] (expected amounts by node group, such as {"g1": {"cpu": 8}})'),
    (
        groups.no_node_for_the_queue(groups.no_amounts_by_group("metadata.annotations[x]")),
        'metadata.annotations[x] (expected amounts by node group, such as {"g1": {"cpu": 8}}): nodegroup '
        "gives the queue no node",
    ),
    (groups.WEIGHTS, 'weights of resources, such as {"cpu": 1}'),
    (groups.LENGTH_OF_TIME, "a length of time, such as 0s,"),
    (groups.LENGTH_ABOVE_ZERO, "a length of time above zero, such as"),
    (groups.DIVIDED_RESOURCES, "compute resources, limits of them, pods, or storage"),
    (
        groups.cannot_be_divided("gold", "example.com/x", groups.DIVIDED_RESOURCES),
        "gold.example.com/x: cannot be divided (expected compute resources, limits of them, pods, or storage)",
    ),
    (
        groups.two_amounts("gold", "requests.cpu", "8", "cpu", "2", "cpu"),
        "gold.requests.cpu: 8 differs from cpu: 2 (expected one amount of cpu)",
    ),
    (groups.bad_generation("1.5"), "metadata.generation: 1.5 (expected a 64-bit number)"),
    (groups.bad_parent("p"), "spec.parent: p is not a name (expected the name of a Bucket: a-z, 0-9, '-' and '.')"),
    (
        groups.tier_by_name_and_number("spec.x"),
        "spec.x.highestTierName: given besides highestTierAllowed (expected one of the two)",
    ),
    (
        groups.unknown_mode("volcano.sh/network-topology-mode", "soon"),
        "metadata.annotations[volcano.sh/network-topology-mode]: 'soon' (expected hard or soft): taken for hard",
    ),
    (
        groups.unknown_tier("volcano.sh/network-topology-highest-tier", "high"),
        "metadata.annotations[volcano.sh/network-topology-highest-tier]: 'high' (expected a whole number): ignored",
    ),
    (groups.no_label_key("spec.x", 0), "spec.x.matchLabelKeys[0]: empty (expected the key of a label)"),
    (groups.too_many_roles(65, 64), "65 roles (expected at most 64)"),
    (
        groups.no_gang_flag("volcano.sh/x", "many"),
        "metadata.annotations[volcano.sh/x]: 'many' (expected true or false): ignored",
    ),
    (groups.item_without_name("spec.x[*]", "a key"), "spec.x[*]: an item without a key (expected its name)"),
    (groups.replicas_of("ps"), "replicas of ps"),
    (groups.minimum_of("ps"), "minimum of ps"),
    (groups.ROLE_NAME, "the name of a role"),
    (
        groups.no_count("spec.replicas", "three", groups.replicas_of("ps")),
        "spec.replicas: 'three' as the replicas of ps (expected a whole number, zero or more)",
    ),
    (
        groups.no_count("spec.replicas", "three", groups.minimum_of("ps")),
        "spec.replicas: 'three' as the minimum of ps (expected a whole number, zero or more)",
    ),
    (
        groups.no_queue_name("volcano.sh/x", 2000),
        "metadata.annotations[volcano.sh/x]: 2,000 letters are no name: ignored",
    ),
    (groups.minimum_below_one("volcano.sh/x", 0), "metadata.annotations[volcano.sh/x]: 0 (expected 1 or more)"),
    (groups.NUMBER_OF_JOBS, "a number of jobs, such as 4"),
    (groups.basic_or_gang("spec.schedulingPolicy", "both"), "spec.schedulingPolicy: both (expected basic or gang)"),
    (
        groups.zero_of_gang("spec.schedulingPolicy", "minCount"),
        "spec.schedulingPolicy.gang.minCount: 0 (expected 1 or more)",
    ),
    (groups.not_one_topology_key(3), "spec.schedulingConstraints.topology: 3 keys (expected one)"),
    (groups.no_topology_key("spec.x"), "spec.x: missing (expected the key of a node label)"),
    (groups.single_or_all("spec.x", "Hard"), "spec.x: 'Hard' (expected single or all)"),
    (groups.bad_priority(5), "spec.priority: 5 (expected a 32-bit integer)"),
    (
        groups.guarantee_above_capability("cpu", "8", "4"),
        "spec.guarantee.resource[cpu]: 8 (expected 4 at most, as in spec.capability): what is beyond stays idle",
    ),
    (groups.TASK_TOPOLOGY_PASSED_OVER, "passed over, and with it all annotations task-topology-* of the PodGroup"),
    (groups.not_one_list("spec.x", 3), "spec.x: 3 lists of roles (expected one, such as ps,worker)"),
    (
        groups.no_affinity_of_roles("spec.x"),
        "spec.x: it has no effect without affinity or anti-affinity of roles: ignored",
    ),
    (groups.more_roles_than("spec.x", 64), "spec.x: more than 64 roles"),
    (
        groups.no_groups_of_roles("spec.x", "many"),
        "spec.x: 'many' (expected groups of roles, such as ps,worker;evaluator)",
    ),
    (groups.no_names_of_roles("spec.x", "many"), "spec.x: 'many' (expected names of roles between the commas)"),
    (groups.letters_are_no_role("metadata.annotations[x]", 300), "metadata.annotations[x]: 300 letters are no name"),
    (groups.role_twice("spec.x", "ps"), "spec.x: role 'ps' is in one group twice"),
    (
        groups.kind_twice("f: workloads[1]", "Thing.example.com"),
        "f: workloads[1]: Thing.example.com is there twice (expected one entry for each kind)",
    ),
    (groups.no_api_versions("spec.x"), "spec.x.apiVersions: empty (expected at least one, as example.com/v1)"),
    (
        groups.bad_api_version("spec.x", 0, "v1"),
        "spec.x.apiVersions[0]: 'v1' (expected GROUP/VERSION, as example.com/v1)",
    ),
    (
        groups.api_version_of_another_group("spec.x", 0, "v1", "g1"),
        "spec.x.apiVersions[0]: 'v1' is of another group (expected g1)",
    ),
    (
        groups.bad_kind("workloads[0]", "thing"),
        "workloads[0].kind: 'thing' (expected the name of a kind, as RayCluster)",
    ),
    (
        groups.bad_plural("workloads[0]", "Things"),
        "workloads[0].plural: 'Things' (expected the name in URLs, as rayclusters)",
    ),
    (groups.kind_of_pods("spec.x"), "spec.x.kind: Pod (expected a kind that makes pods)"),
    (groups.neither_name_nor_each("spec.x", 0), "spec.x.roles[0]: neither name nor each (expected one of them)"),
    (
        groups.both_name_and_each("spec.x", 0),
        "spec.x.roles[0]: both name and each (expected one of them, and nameFrom with each)",
    ),
    (groups.bad_split("spec.x", 0), "spec.x.split[0]: expected either labels or pod: true"),
    (
        groups.label_of_another("f", "Other.example.com", "l", "Thing.example.com"),
        "f: Other.example.com.label: l is that of Thing.example.com already",
    ),
    # mirror/ingest/words/nodes
    (nodes.SELECTORS, "exactMatch, regexMatch and labelMatch"),
    (nodes.NO_TIER, "spec.tier: absent (expected zero or more)"),
    (
        nodes.not_one_selector("spec.members[0].selector", 2, nodes.SELECTORS),
        "spec.members[0].selector: 2 of exactMatch, regexMatch and labelMatch are set (expected exactly one)",
    ),
    (
        nodes.empty_name("spec.members[0].selector", "Node"),
        "spec.members[0].selector.exactMatch.name: empty (expected the name of a Node)",
    ),
    (
        nodes.hypernode_by_name("spec.x"),
        "spec.x: a member of type HyperNode is found by name alone (expected exactMatch)",
    ),
    (nodes.empty_pattern("spec.x"), "spec.x: empty (expected a regular expression)"),
    (
        nodes.bad_pattern("spec.x", "missing ): (a"),
        "spec.x: missing ): (a (expected a regular expression in the syntax of RE2)",
    ),
    (
        nodes.annotation_not_whole("volcano.sh/x", "many"),
        "metadata.annotations[volcano.sh/x]: 'many' (expected a whole number)",
    ),
    (
        nodes.unknown_operator("spec.x", "Near", "Exists, In"),
        "spec.x.operator: 'Near' is unknown (expected Exists, In)",
    ),
    (nodes.no_values("spec.x", "In"), "spec.x.values: empty (expected at least one value for In)"),
    (
        nodes.not_one_integer("spec.x", ["a", "b"], "Gt"),
        "spec.x.values: ['a', 'b'] (expected exactly one integer for Gt)",
    ),
    (
        nodes.unknown_toleration_operator("spec.tolerations[0]", "Like"),
        "spec.tolerations[0].operator: 'Like' is unknown (expected Equal or Exists)",
    ),
    (
        nodes.unknown_effect("spec.x", "Always"),
        "spec.x.effect: 'Always' is unknown (expected NoSchedule, PreferNoSchedule or NoExecute)",
    ),
    (nodes.no_topology_label("spec.x"), "spec.x.topologyKey: empty (expected the name of a node label)"),
    (nodes.max_skew_below_one("spec.x", 0), "spec.x.maxSkew: 0 (expected 1 or more)"),
    (nodes.min_domains_below_one("spec.x", 0), "spec.x.minDomains: 0 (expected 1 or more)"),
    (nodes.too_many_zones(9, 8), "zones: 9 of type Node (8 are read at most)"),
    (nodes.TWO_ZONES_OF_ONE_NUMBER, "zones: two of type Node have one number"),
    (
        nodes.unknown_topology_policy("Hard"),
        "topologyPolicies: 'Hard' is unknown (expected such as SingleNUMANodeContainerLevel)",
    ),
    (nodes.no_zone_number("zones[0]", "left"), "zones[0].name: 'left' (expected a number at its end, such as node-0)"),
    (nodes.no_cpu_number("one"), "spec.cpuDetail: 'one' (expected the number of a cpu)"),
    (nodes.too_many_numa_nodes(64), "spec.cpuDetail: more than 64 NUMA nodes"),
    (nodes.no_cpu_numbers("spec.x", "0-"), "spec.x: '0-' (expected numbers of cpus, such as 0-3,8)"),
    (nodes.too_many_cpus("spec.x", "0-99999", 4096), "spec.x: '0-99999' names more than 4,096 cpus"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
