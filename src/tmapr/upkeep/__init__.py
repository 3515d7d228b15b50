"""Upkeep of a map: extend it by a traverse, join it with another one, drop a part of it; each makes a new map."""
