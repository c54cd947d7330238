"""A worker process whose jobs have an effect that can be counted: one message each, with the job's end."""

import asyncio
import logging
import signal
import sys

import strongroom
from strongroom import BullMQWorker, Job, NewMessage, TextPart


async def main(database_url: str, redis_url: str) -> None:
    options = {"jobs": f"bullmq+{redis_url}", "pool_max": 4}
    async with strongroom.connect(database_url, **options) as store:  # type: ignore[arg-type]

        async def handler(job: Job) -> None:
            said = NewMessage(role="user", parts=[TextPart(text=job.id)])
            await asyncio.sleep(0.02)
            async with store.unit_of_work(tenant_id=job.tenant_id) as uow:
                await uow.messages.append(
                    tenant_id=job.tenant_id, conversation_id="effects", messages=[said]
                )
                await uow.jobs.complete(
                    tenant_id=job.tenant_id, job_id=job.id, claim_token=job.claim_token or 0
                )

        worker = BullMQWorker(
            store=store, handler=handler, lease_seconds=2.0, stalled_seconds=1.0, sweep_seconds=1.0
        )
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        print("ready", flush=True)
        await worker.run_forever()


if __name__ == "__main__":
    logging.disable()
    asyncio.run(main(*sys.argv[1:]))
