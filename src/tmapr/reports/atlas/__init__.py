"""A map before any run: what it covers, where it has gaps, and which of its places look alike."""
