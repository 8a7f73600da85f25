import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import fastify from 'fastify';
import { queueAt } from './bullmq.mjs';

/** The page that BullMQ's users look at a queue with: `board.mjs REDIS_URL QUEUE` tells its address, and adds as many as it is told. */
const [url, name] = process.argv.slice(2);
const queue = queueAt(url, name);
const serverAdapter = new FastifyAdapter();
createBullBoard({ queues: [new BullMQAdapter(queue)], serverAdapter });
const app = fastify();
await app.register(serverAdapter.registerPlugin());
process.on('message', async ({ add }) => {
  await queue.addBulk(Array.from({ length: add }, (_, n) => ({ name: 'noop', data: { n } })));
  process.send({ added: add });
});
process.once('disconnect', () => process.exit());
process.send({ url: await app.listen({ host: '127.0.0.1', port: 0 }) });
