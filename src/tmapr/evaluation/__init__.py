"""What a run is worth: errors, loops, consistency and how sure the difference between two runs is."""
