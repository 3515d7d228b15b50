"""A run as a film: what the camera saw, what it was matched with, and where the system believed to be."""
