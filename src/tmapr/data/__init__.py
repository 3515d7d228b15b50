"""Recordings as people have them: image files, stamps and positions."""
