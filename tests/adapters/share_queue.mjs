// A TypeScript program's part of a queue: it works on what Python enqueued, and enqueues what Python works on.
import { Queue, Worker } from 'bullmq';

const [port, prefix] = process.argv.slice(2);
const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null };
const back = new Queue('from-node', { connection, prefix });
const worker = new Worker(
  'to-node',
  async (job) => {
    const { tenant_id, job_id } = job.data;
    await back.add('echo', { tenant_id, payload: { job_id, kind: job.name }, dedupe_key: job_id });
    await back.add('wrong', { tenant_id, payload: 'no object' });
    console.log(JSON.stringify(job.data));
  },
  { connection, prefix },
);
process.stdin.on('end', async () => {
  await worker.close();
  await back.close();
});
process.stdin.resume();
