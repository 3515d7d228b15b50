"""From a raw thermal image to a `Percept`: one frozen encoder pass for a place descriptor and a pose head."""
