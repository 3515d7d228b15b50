"""A fleet of robots: versions of one map for all of them, and what each of them has learned, brought together again."""
