"""Sizes of the small maps in shards that tests share."""

TARGET = 8_000
"""Bytes of descriptors: a small map has several shards then."""
