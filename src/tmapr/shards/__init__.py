"""Maps in shards: immutable objects of some places each, named by their content, and one manifest that lists them.

The same map gives the same bytes, whoever writes it. A robot pulls only what it lacks.
"""

from tmapr.shards.loading import load_shards
from tmapr.shards.manifest import Blob, Manifest, Part, Shard, read_manifest
from tmapr.shards.pulling import pull, verify
from tmapr.shards.writing import write_shards

__all__ = ["Blob", "Manifest", "Part", "Shard", "load_shards", "pull", "read_manifest", "verify", "write_shards"]
