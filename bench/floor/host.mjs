/** `node host.mjs SOCKET MODULE`: runs tasks of a module, and keeps how they ended until that is settled. */
import { createServer } from 'node:net';
import { lines } from './lines.mjs';

const [, , socket, file] = process.argv;
const { run } = await import(file);
const kept = new Map();

createServer((connection) => {
  let ended = [];
  const send = lines(connection, async ({ run: tasks = [], settled = [] }) => {
    for (const id of settled) kept.delete(id);
    await Promise.all(tasks.map(work));
  });
  const work = async (task) => {
    const began = performance.now();
    await run(task);
    const end = { id: task.id, attempt: task.attempt, status: 1, ms: Math.round(performance.now() - began) };
    kept.set(end.id, end);
    if (ended.length === 0) {
      setImmediate(() => {
        send({ ended });
        ended = [];
      });
    }
    ended.push(end);
  };
}).listen(socket, () => process.send({ ready: true }));

process.on('disconnect', () => process.exit());
