"""sql/errors.toml, from which Python's exceptions are made, is what the database raises."""

import tomllib

from tests.servers import Database
from tests.servers.databases import ROOT


def test_error_codes_are_the_registry(every_database: Database) -> None:
    registry = tomllib.loads((ROOT / "sql/errors.toml").read_text(encoding="utf-8"))["error"]
    with every_database.connect() as connection:
        codes = connection.execute(
            "select code, name, retryable, meaning from strongroom_private.error_codes()"
        ).fetchall()
    fields = ("code", "name", "retryable", "meaning")
    assert codes == [tuple(entry[field] for field in fields) for entry in registry]
