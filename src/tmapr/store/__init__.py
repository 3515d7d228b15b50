"""Where immutable objects lie: a folder, or any object store that obstore reads.

A name is written once and keeps its content: objects are named by the SHA-256 of their bytes, manifests by that of
their text. So nothing is ever in need of a lock, and whoever reads can check what was read.
"""

from tmapr.store.folder import FolderStore
from tmapr.store.names import digest_of, name_manifest, name_object
from tmapr.store.opening import open_store
from tmapr.store.protocol import Store

__all__ = ["FolderStore", "Store", "digest_of", "name_manifest", "name_object", "open_store"]
