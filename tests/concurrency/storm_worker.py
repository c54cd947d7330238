"""One process of the storm: append to shared conversations, write down what was acknowledged.

A call that fails as Unavailable is made again, with the same ids, until it is answered: that is what a
host does whose server died under it. One line per acknowledged message: conversation, position, id.
"""

import asyncio
import random
import sys
import time
from pathlib import Path

import strongroom
from strongroom import NewMessage, TextPart, Unavailable

PATIENCE = 120.0


async def append_until_answered(
    store: strongroom.Strongroom, conversation_id: str, messages: list[NewMessage]
) -> tuple[strongroom.AppendItem, ...]:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            done = await store.messages.append(
                tenant_id="storm", conversation_id=conversation_id, messages=messages
            )
        except Unavailable as error:
            if not error.retryable or time.monotonic() > deadline:
                raise
        else:
            return done.items


async def main(url: str, name: str, conversations: list[str], batches: int, log: Path) -> None:
    chance = random.Random(name)
    with log.open("w") as acknowledged:
        async with strongroom.connect(url, pool_max=2, timeout=5) as store:
            for number in range(batches):
                conversation_id = chance.choice(conversations)
                size = chance.choice([1, 1, 1, 2, 5, 20])
                messages = [
                    NewMessage(
                        id=f"{name}-{number}-{i}",
                        role="user",
                        parts=[TextPart(text=f"{name} {number} {i}")],
                    )
                    for i in range(size)
                ]
                items = await append_until_answered(store, conversation_id, messages)
                for item in items:
                    acknowledged.write(f"{conversation_id} {item.position} {item.id}\n")
                acknowledged.flush()


if __name__ == "__main__":
    asyncio.run(
        main(sys.argv[1], sys.argv[2], sys.argv[3].split(","), int(sys.argv[4]), Path(sys.argv[5]))
    )
