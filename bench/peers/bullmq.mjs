import { Queue, Worker } from 'bullmq';

const QUEUE = 'noop';

const connection = (url) => {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null };
};

export async function prepare() {}

export function queueAt(url, name) {
  return new Queue(name, { connection: connection(url), defaultJobOptions: { removeOnComplete: true } });
}

export async function producer(url) {
  const queue = queueAt(url, QUEUE);
  return {
    add: (tasks) => queue.addBulk(tasks.map((data) => ({ name: 'noop', data }))),
    async isEmpty() {
      const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized');
      return Object.values(counts).every((count) => count === 0);
    },
    close: () => queue.close(),
  };
}

export async function work(url, slots, done) {
  const worker = new Worker(QUEUE, async () => done(1), { connection: connection(url), concurrency: slots });
  worker.on('error', (error) => console.error(error.message));
  await worker.waitUntilReady();
  return () => worker.close();
}
