"""The paper's latency protocol: what is timed, on what work, with which eyes, on which machine."""
