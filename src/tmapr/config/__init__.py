"""Settings: frozen, typed, strict; read from TOML and written back as TOML."""

from tmapr.config.dump import dump_toml, settings_digest
from tmapr.config.load import load_settings
from tmapr.config.settings import Settings
from tmapr.config.tree import changed, changed_since, differences, filled

__all__ = [
    "Settings",
    "changed",
    "changed_since",
    "differences",
    "dump_toml",
    "filled",
    "load_settings",
    "settings_digest",
]
