"""Subcommands."""
