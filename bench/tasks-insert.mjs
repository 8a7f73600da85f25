import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { timed } from './agents.mjs';
import { peakResidentMb } from './proc.mjs';
import { MUSTER, startServer } from './server.mjs';
import { adder, createQueue, databaseOf, linesOf, perSecond, queueCounts } from './tasks.mjs';

export const about =
  'Tasks added in bulk, by `muster task add --from` and by REST (--tasks), and the memory of the server';
export const defaults = { tasks: 1_000_000 };

const TARGET_PER_SECOND = 50_000;
const TARGET_MB = 400;
const LINES = 10_000;
const paramsOf = (n) => ({ file: `/srv/images/${n}.png`, width: 200 + (n % 800) });

/** Each way with a server of its own, whose memory is the most that it ever had. No node takes the tasks. */
export async function* run({ tasks, databaseUrl, profile }) {
  yield* measure('cli', { tasks, databaseUrl, profile }, byCli);
  yield* measure('rest', { tasks, databaseUrl, profile }, byRest);
}

async function* measure(way, { tasks, databaseUrl, profile }, add) {
  const server = await startServer({ databaseUrl, profile });
  try {
    await createQueue(server, 'work');
    server.profile();
    const ms = await add(server, tasks);
    server.profile();
    const { queued } = await queueCounts(server, 'work');
    if (queued !== tasks) throw new Error(`${queued} tasks wait, not ${tasks}`);
    const details = { floor: null, ratio: null, tasks, database: databaseOf(databaseUrl) };
    const value = perSecond(tasks, ms);
    yield { figure: `tasks-insert-${way}`, value, unit: 'tasks/s', target: TARGET_PER_SECOND, ...details };
    const most = Math.round(peakResidentMb(server.pid));
    yield { figure: `tasks-insert-${way}-memory`, value: most, unit: 'MB', target: TARGET_MB, ...details };
  } finally {
    await server.stop();
  }
}

async function byCli(server, tasks) {
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-lines-'));
  const file = join(dir, 'params.jsonl');
  try {
    await pipeline(Readable.from(paramLines(tasks)), createWriteStream(file));
    const env = { ...process.env, MUSTER_CONFIG: server.cliConfig };
    const args = [MUSTER, 'task', 'add', 'work', '--from', file];
    return await timed(process.execPath, args, { env });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function* paramLines(tasks) {
  for (let from = 0; from < tasks; from += LINES) {
    let text = '';
    for (let n = from; n < Math.min(from + LINES, tasks); n++) text += `${JSON.stringify(paramsOf(n))}\n`;
    yield text;
  }
}

/** One request, whose lines are made while it is sent. */
async function byRest(server, tasks) {
  const add = await adder(server);
  const began = performance.now();
  await add.lines('work', Readable.toWeb(Readable.from(bodies(tasks))));
  return performance.now() - began;
}

function* bodies(tasks) {
  for (let from = 0; from < tasks; from += LINES) {
    yield Buffer.from(linesOf(from, Math.min(LINES, tasks - from), paramsOf));
  }
}
