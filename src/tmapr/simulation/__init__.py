"""A small made-up world for demonstrations and tests: a drive, and percepts along it under changing conditions."""
