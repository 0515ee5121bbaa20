"""Files for ``vsched cluster``, with every key: its help and the guide show them."""

from __future__ import annotations

NODES_EXAMPLE = """\
- count: 100                                    # the one key that is needed; nodes are called prefix + number
  prefix: cpu-                                  # node- by default
  start: 0                                      # the first number
  capacity: {cpu: 64, memory: 256Gi}            # 32 cpu, 128Gi, 512Gi ephemeral-storage and 110 pods, unless said
  allocatable: {cpu: 62}                        # where it differs from the capacity
  labels: {pool: batch}
  zones: [zone-a, zone-b, zone-c]               # taken in turn; [] for none
- count: 8
  prefix: gpu-
  capacity: {cpu: 96, memory: 1Ti, nvidia.com/gpu: 8}
  taints: ["nvidia.com/gpu=present:NoSchedule"] # or {key: …, value: …, effect: …}
  annotations: {vsched.io/cpu-usage: 10%}       # used besides pods, with --usage
  volumes: {csi.example.com: 8}                 # of a CSI driver that can be attached; a CSINode says so
- {apiVersion: v1, kind: Node, metadata: {name: own}}   # or whole Nodes, as from kubectl get nodes -o yaml
"""
"""An example for ``--nodes FILE`` with every key."""
DEVICES_EXAMPLE = """\
- driver: gpu.example.com                 # needed, as is a count or devices
  nodes: ["gpu-*"]                        # names with wildcards; all nodes, unless said
  count: 8                                # devices of each node; they are called prefix + number
  prefix: gpu-
  attributes: {model: h100, numa: 0, firmware: {version: 1.2.3}, uuid: "{node}-{n}"}
  capacity: {memory: 80Gi}
  taints: ["example.com/burn-in=yes:NoSchedule"]
  device: {allowMultipleAllocations: true} # other fields of each device, as in the API
  devices:                                # what differs for some of them, and further ones
  - {name: gpu-7, attributes: {model: a100}, taints: ["example.com/broken=yes:NoExecute"]}
  class: gpu.example.com                  # a DeviceClass is made, called as the driver unless said; false for none
  extendedResourceName: example.com/gpu   # of that class
- driver: mig.example.com
  nodes: [gpu-0]
  pool: mig                               # else the pool is called as its node
  sharedCounters: {card: {memory: 80Gi}}
  devices:
  - {name: whole, consumesCounters: [{counterSet: card, counters: {memory: {value: 80Gi}}}]}
  - {name: half, consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}}]}
- driver: fabric.example.com
  shared: true                            # one pool for all nodes
  count: 2
  prefix: port-
  device: {bindingConditions: [attached], bindingFailureConditions: [failed]}
  bindingDelay: 2s                        # until these conditions are true
  bindingFailure: ""                      # or the message of a failure
- {kind: DeviceClass, metadata: {name: any}, spec: {}}   # or whole DeviceClasses and ResourceSlices
- plugin: vgpu                            # or devices that a pretended device plugin registers, as Volcano's do
  nodes: [vgpu-0]                         # names with wildcards; [] takes back what was registered
  count: 4                                # 1, unless said
  type: NVIDIA-A100-SXM4-80GB             # the model; for another one on the same node, another entry
  memory: 81920                           # MiB of each; 0 where it does not count
  sharers: 10                             # how many containers may share one
  mode: hami-core                         # or mps, or mig
  uuid: "GPU-{node}-{n}"                  # unless said; {n} is the number of the device on its node
  unhealthy: [3]                          # numbers on the node
  failure: ""                             # or why pods get none of them: they fail with UnexpectedAdmissionError
- {plugin: gpu, nodes: [shared-0], count: 2, memory: 16384}    # volcano.sh/gpu-memory and gpu-number
- {plugin: Ascend910B3, nodes: [npu-0], count: 8, memory: 65536}   # NPUs, as HAMi's device plugin registers them
- {plugin: nvidia.com/gpu, nodes: [whole-0], count: 8}         # a resource that counts whole devices
"""
"""An example for ``--devices FILE`` with every key."""
POOLS_EXAMPLE = """\
- name: h100                              # needed; nodes are called name + number, and so is their instance type
  min: 0                                  # how many nodes it always has
  max: 4                                  # 10, unless said
  delay: 30s                              # from the decision until a node is there; at once, unless said
  idle: 10m                               # when a node without pods is removed; never, unless said
  price: 2.5                              # the cheapest pool that has room for a pod is taken
  outOfStock: ""                          # or the message of why none can be had
  capacity: {cpu: 96, memory: 1Ti, nvidia.com/gpu: 8}   # and labels, taints, zones, ..., as for --nodes
"""
"""An example for ``--pools FILE`` with every key."""
