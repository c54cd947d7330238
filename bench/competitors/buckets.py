"""Bytes put into a bucket and got back: boto3 as it comes, and strongroom's blob store, on one server."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
import uuid
from pathlib import Path
from typing import Any

from bench.competitors import MissingPeer
from bench.loading import TENANT
from bench.server import Server

BUCKET, KEY, SECRET = "bench", "KEYKEYKEY", "SECRETSECRET"
SMALL, LARGE = b"s" * 64 * 1024, b"l" * 4 * 1024 * 1024


class Bucket:
    """moto's server, and both clients of it."""

    name = "an S3 server"

    async def open(self, server: Server) -> None:  # noqa: ARG002
        program = shutil.which("moto_server", path=str(Path(sys.executable).parent))
        if program is None:
            raise MissingPeer("the package moto[server]")
        try:
            import boto3  # type: ignore[import-untyped] # noqa: PLC0415

            from strongroom.infrastructure.s3_blobs import open_s3  # noqa: PLC0415
        except ImportError as error:
            raise MissingPeer(f"the package boto3 ({error})") from error
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._process = await asyncio.create_subprocess_exec(
            program, "-H", "127.0.0.1", "-p", str(port),
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        async with asyncio.timeout(60):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    break
        endpoint = f"http://127.0.0.1:{port}"
        self._boto: Any = boto3.client(
            "s3", endpoint_url=endpoint, region_name="us-east-1",
            aws_access_key_id=KEY, aws_secret_access_key=SECRET,
        )  # fmt: skip
        self._boto.create_bucket(Bucket=BUCKET)
        self._blobs = open_s3(f"s3://{KEY}:{SECRET}@{BUCKET}?endpoint={endpoint}&region=us-east-1")
        await self._blobs.check()

    async def close(self) -> None:
        self._process.kill()
        await self._process.wait()

    async def boto3(self, content: bytes) -> None:
        key = uuid.uuid4().hex
        self._boto.put_object(Bucket=BUCKET, Key=key, Body=content)
        assert len(self._boto.get_object(Bucket=BUCKET, Key=key)["Body"].read()) == len(content)

    async def strongroom(self, content: bytes) -> None:
        key = uuid.uuid4().hex
        await self._blobs.put(tenant_id=TENANT, key=key, data=content)
        assert len(await self._blobs.read(tenant_id=TENANT, key=key)) == len(content)
