"""Version 2: robots say which release they localize with.

Taken down, only that is forgotten.
"""

from alembic import op

revision = "2"
down_revision = "1"
branch_labels = None
depends_on = None

_UP = """
CREATE TABLE tmapr.pulled (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    robot text NOT NULL DEFAULT session_user REFERENCES tmapr.robots,
    release text NOT NULL REFERENCES tmapr.releases,
    pulled timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ON tmapr.pulled (robot, number);
GRANT SELECT ON tmapr.pulled TO tmapr_robot, tmapr_publisher;
GRANT INSERT (release) ON tmapr.pulled TO tmapr_robot;
ALTER TABLE tmapr.pulled ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON tmapr.pulled FOR SELECT TO tmapr_robot USING (robot = session_user);
CREATE POLICY said ON tmapr.pulled FOR INSERT TO tmapr_robot WITH CHECK (robot = session_user);
CREATE POLICY everybodys ON tmapr.pulled FOR SELECT TO tmapr_publisher USING (true);
"""


def upgrade() -> None:
    """Make the table."""
    op.get_bind().exec_driver_sql(_UP)


def downgrade() -> None:
    """Remove it."""
    op.get_bind().exec_driver_sql("DROP TABLE tmapr.pulled")
