"""Drives and maps for other people's tools: GeoJSON, GPX, CSV, Parquet and TUM."""
