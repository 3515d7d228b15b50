"""Version 1: robots, releases, and what robots push; who may do what with them.

A robot reads releases, adds its own parts and pushes, reads these, and may do nothing else. Names, times and versions
are not the client's to say: they are the login's, the clock's and the content's. Taken down, all of it is gone.
"""

from alembic import op

revision = "1"
down_revision = None
branch_labels = None
depends_on = None

_UP = """
CREATE TABLE tmapr.fleet (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    store text NOT NULL
);
CREATE TABLE tmapr.robots (
    name text PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_]{0,62}$'),
    enrolled timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE tmapr.releases (
    name text PRIMARY KEY CHECK (name = encode(sha256(convert_to(document, 'UTF8')), 'hex')),
    number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    document text NOT NULL CHECK (octet_length(document) <= 67108864),
    kind text NOT NULL GENERATED ALWAYS AS (document::jsonb ->> 'kind') STORED CHECK (kind = 'release'),
    parent text GENERATED ALWAYS AS (document::jsonb ->> 'parent') STORED REFERENCES tmapr.releases,
    publisher text NOT NULL DEFAULT session_user,
    published timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE tmapr.parts (
    robot text NOT NULL DEFAULT session_user REFERENCES tmapr.robots,
    sha256 text NOT NULL GENERATED ALWAYS AS (encode(sha256(content), 'hex')) STORED,
    content bytea NOT NULL CHECK (octet_length(content) <= 4194304),
    received timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (robot, sha256)
);
ALTER TABLE tmapr.parts ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE TABLE tmapr.pushes (
    robot text NOT NULL DEFAULT session_user REFERENCES tmapr.robots,
    name text NOT NULL CHECK (name = encode(sha256(convert_to(document, 'UTF8')), 'hex')),
    number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    document text NOT NULL CHECK (octet_length(document) <= 67108864),
    kind text NOT NULL GENERATED ALWAYS AS (document::jsonb ->> 'kind') STORED CHECK (kind = 'push'),
    release text NOT NULL GENERATED ALWAYS AS (document::jsonb ->> 'release') STORED REFERENCES tmapr.releases,
    received timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (robot, name)
);
CREATE INDEX ON tmapr.pushes (release);

CREATE FUNCTION tmapr.refuse_missing_parts() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM jsonb_array_elements(NEW.document::jsonb -> 'files') AS file,
            jsonb_array_elements_text(file -> 'parts') AS part
        WHERE NOT EXISTS (SELECT FROM tmapr.parts AS held WHERE held.robot = NEW.robot AND held.sha256 = part)
    ) THEN
        RAISE EXCEPTION 'the push names parts that were not sent';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER whole BEFORE INSERT ON tmapr.pushes
    FOR EACH ROW EXECUTE FUNCTION tmapr.refuse_missing_parts();

GRANT USAGE ON SCHEMA tmapr TO tmapr_robot, tmapr_publisher;
GRANT SELECT ON tmapr.alembic_version, tmapr.fleet, tmapr.robots, tmapr.releases, tmapr.parts, tmapr.pushes
    TO tmapr_robot, tmapr_publisher;
GRANT INSERT (content) ON tmapr.parts TO tmapr_robot;
GRANT INSERT (name, document) ON tmapr.pushes TO tmapr_robot;
GRANT INSERT (name, document) ON tmapr.releases TO tmapr_publisher;

ALTER TABLE tmapr.robots ENABLE ROW LEVEL SECURITY;
ALTER TABLE tmapr.parts ENABLE ROW LEVEL SECURITY;
ALTER TABLE tmapr.pushes ENABLE ROW LEVEL SECURITY;
CREATE POLICY itself ON tmapr.robots FOR SELECT TO tmapr_robot USING (name = session_user);
CREATE POLICY everybody ON tmapr.robots FOR SELECT TO tmapr_publisher USING (true);
CREATE POLICY own ON tmapr.parts FOR SELECT TO tmapr_robot USING (robot = session_user);
CREATE POLICY sent ON tmapr.parts FOR INSERT TO tmapr_robot WITH CHECK (robot = session_user);
CREATE POLICY everybodys ON tmapr.parts FOR SELECT TO tmapr_publisher USING (true);
CREATE POLICY own ON tmapr.pushes FOR SELECT TO tmapr_robot USING (robot = session_user);
CREATE POLICY sent ON tmapr.pushes FOR INSERT TO tmapr_robot WITH CHECK (robot = session_user);
CREATE POLICY everybodys ON tmapr.pushes FOR SELECT TO tmapr_publisher USING (true);
"""
_DOWN = """
DROP TABLE tmapr.pushes, tmapr.parts, tmapr.releases, tmapr.robots, tmapr.fleet;
DROP FUNCTION tmapr.refuse_missing_parts();
"""


def upgrade() -> None:
    """Make the tables."""
    op.get_bind().exec_driver_sql(_UP)


def downgrade() -> None:
    """Remove them, with all that they hold."""
    op.get_bind().exec_driver_sql(_DOWN)
