"""The paper's latency protocol: what is timed, on what work, by which perceiver, on which machine."""
