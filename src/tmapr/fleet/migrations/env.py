"""What alembic executes: the steps that are due, on the connection that it was given, in that one's transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table_schema="tmapr")
context.run_migrations()
