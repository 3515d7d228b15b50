"""The tables of a fleet, version by version; each file is one step, up and down, which alembic takes."""
