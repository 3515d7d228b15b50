"""Files: arrays with a header, percept caches, trajectories and the run folder that holds them."""
