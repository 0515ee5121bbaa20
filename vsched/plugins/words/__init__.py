"""All that plugins say to people: of arguments, nodes, victims, jobs, queues and devices, a module each."""
