import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backlog, modulePlugin, startTaskFleet, warmUp } from './task-fleet.mjs';
import { createQueue, databaseOf, pause, percentile, perSecond, progressing } from './tasks.mjs';

export const about = 'From a task that is added to its plugin’s first line, at a tenth of what the agents work off';
export const defaults = { nodes: 4, slots: 24, tasks: 20_000, seconds: 30 };

const SHARE = 0.1;
const TARGET_P99_MS = 25;
const LOAD_EVERY_MS = 100;
const PROBE_EVERY_MS = 40;

/** A backlog shows what goes through; a tenth of that is the load, and single tasks among it are timed. */
export async function* run({ nodes, slots, tasks, seconds, databaseUrl, profile }) {
  const plugins = { noop: modulePlugin('noop'), stamp: modulePlugin('stamp') };
  const fleet = await startTaskFleet({ databaseUrl, profile, agents: nodes, tasks: { max: slots, plugins } });
  const probes = await startProbes(fleet, 'probes');
  try {
    await warmUp(fleet);
    const { ms } = await backlog(fleet, tasks);
    const full = perSecond(tasks, ms);
    // A module is loaded, on every agent, by the first task that needs it.
    await probes.during(2);
    probes.forget();
    fleet.server.profile();
    const load = startLoad(fleet, full * SHARE);
    try {
      await probes.during(seconds);
    } finally {
      await load.stop();
    }
    fleet.server.profile();
    const late = probes.read();
    const details = { load: Math.round(full * SHARE), full_load: full, probes: late.length, nodes, slots };
    for (const [name, share, target] of [
      ['p50', 0.5, null],
      ['p99', 0.99, TARGET_P99_MS],
    ]) {
      const value = Number(percentile(late, share).toFixed(2));
      const database = databaseOf(databaseUrl);
      yield {
        figure: `tasks-latency-${name}`,
        value,
        unit: 'ms',
        target,
        floor: null,
        ratio: null,
        ...details,
        database,
      };
    }
  } finally {
    probes.remove();
    await fleet.stop();
  }
}

/** Adds so many tasks a second, some at a time. */
function startLoad({ adder }, rate) {
  let stopped = false;
  const each = Math.max(1, Math.round((rate * LOAD_EVERY_MS) / 1000));
  const loop = async () => {
    for (let at = performance.now(); !stopped; at += LOAD_EVERY_MS) {
      await pause(Math.max(0, at - performance.now()));
      await adder.add('work', each);
    }
  };
  const ended = loop();
  // It is told where it is stopped.
  ended.catch(() => undefined);
  return {
    async stop() {
      stopped = true;
      await ended;
    },
  };
}

/** Single tasks in a queue of their own, each of which writes how long it was on the way. */
export async function startProbes({ server, adder }, queue, params = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-probes-'));
  const file = join(dir, 'late');
  writeFileSync(file, '');
  await createQueue(server, queue, { plugin: 'stamp', threads: null });
  let skipped = 0;
  const lines = () => readFileSync(file, 'utf8').split('\n').slice(0, -1).map(Number);
  return {
    /** So many at once. Resolves when the last has run. */
    async burst(count) {
      const before = lines().length;
      const at = String(process.hrtime.bigint());
      await adder.add(queue, count, () => ({ ...params, file, at }));
      await progressing(async () => before + count - lines().length, 'probes');
    },
    /** One after the other, at even times. Resolves when the last has run. */
    async during(seconds) {
      const count = Math.ceil((seconds * 1000) / PROBE_EVERY_MS);
      const before = lines().length;
      const began = performance.now();
      const adding = [];
      for (let n = 0; n < count; n++) {
        await pause(Math.max(0, began + n * PROBE_EVERY_MS - performance.now()));
        adding.push(adder.one(queue, { ...params, file, at: String(process.hrtime.bigint()) }));
      }
      await Promise.all(adding);
      await progressing(async () => before + count - lines().length, 'probes');
    },
    forget() {
      skipped = lines().length;
    },
    /** Milliseconds of each since they were forgotten. */
    read: () => lines().slice(skipped),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
