"""Drives and maps for other people's tools: GeoJSON, GPX, KML, CSV, Parquet and TUM."""
