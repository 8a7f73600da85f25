import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { timed } from './agents.mjs';
import { median } from './server.mjs';
import { backlog, startTaskFleet, warmUp } from './task-fleet.mjs';
import { databaseOf, perSecond } from './tasks.mjs';

export const about = '`/bin/true` as tasks of one agent with as many slots as processors, beside `xargs -P`';
export const defaults = { tasks: 5000, rounds: 5, slots: availableParallelism() };

const TARGET = 0.8;

/** Until a backlog is done. They take turns. */
export async function* run({ tasks, rounds, slots, databaseUrl, profile }) {
  const plugins = { noop: { program: '/bin/true', args: [] } };
  const fleet = await startTaskFleet({ databaseUrl, profile, agents: 1, tasks: { max: slots, plugins } });
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-xargs-'));
  const list = join(dir, 'list');
  writeFileSync(list, Array.from({ length: tasks }, (_, n) => `${n}\n`).join(''));
  try {
    await warmUp(fleet);
    const [samples, peers] = [[], []];
    for (let round = 0; round < rounds; round++) {
      peers.push(perSecond(tasks, await timed('xargs', ['-a', list, '-n', '1', '-P', String(slots), '/bin/true'])));
      fleet.server.profile();
      const { ms } = await backlog(fleet, tasks);
      samples.push(perSecond(tasks, ms));
      fleet.server.profile();
    }
    const [value, peer] = [median(samples), median(peers)].map(Math.round);
    yield {
      figure: 'tasks-program',
      value,
      unit: 'tasks/s',
      target: Math.round(peer * TARGET),
      peer,
      ratio: Number((value / peer).toFixed(2)),
      slots,
      tasks,
      database: databaseOf(databaseUrl),
      samples,
      peer_samples: peers,
    };
  } finally {
    await fleet.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}
