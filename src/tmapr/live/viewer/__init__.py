"""The Rerun viewer: what a drive looks like while it goes on, and afterwards."""
