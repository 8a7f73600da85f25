import { startFloor } from './floor.mjs';
import { installPeers, taskPeers } from './peers.mjs';
import { median } from './server.mjs';
import { backlog, endToEnd, modulePlugin, startTaskFleet, warmUp } from './task-fleet.mjs';
import { perSecond } from './tasks.mjs';

export const about = 'Tasks that do nothing, on N agents; with --database-url beside graphile-worker, pg-boss, BullMQ';
export const defaults = { nodes: 4, slots: 24, tasks: 50_000, rounds: 3 };

/**
 * Two figures of each system: from the first of `tasks` tasks that is added until the last is done and that is stored
 * (`tasks-noop`, with workers that wait for them), and until a backlog of as many is done (`tasks-noop-backlog`). Every
 * system has as many worker processes as Muster has agents, of which each runs `slots` tasks at one time. They take turns,
 * so that what else the machine does slows all of them. With a database, Muster is measured on it and on SQLite.
 *
 * All of these are services that run for weeks. So the processes of each stay for the whole run, and each has one round
 * that does not count, in which V8 compiles what it runs.
 */
export async function* run({ nodes, slots, tasks, rounds, databaseUrl, profile }) {
  if (databaseUrl !== undefined) installPeers();
  const systems = new Map();
  try {
    for (const [name, start] of Object.entries(contestants({ nodes, slots, databaseUrl, profile }))) {
      const system = await start();
      if (system === null) console.error(`tasks-noop: ${name} is not installed, and left out`);
      else systems.set(name, { ...system, endToEnd: [], backlog: [] });
    }
    for (let round = 0; round <= rounds; round++) {
      for (const [name, system] of systems) {
        const warm = round > 0;
        if (warm) system.profile?.();
        const added = system.addAndWork && eachOf(tasks, await system.addAndWork(tasks));
        const backlog = eachOf(tasks, await system.workOff(tasks));
        if (warm) system.profile?.();
        const first = added === undefined ? '' : `${shown(added)}; `;
        console.error(`tasks-noop: ${name}: ${first}of a backlog ${shown(backlog)}${warm ? '' : ' (not counted)'}`);
        if (!warm) continue;
        if (added !== undefined) system.endToEnd.push(added);
        system.backlog.push(backlog);
      }
    }
  } finally {
    for (const { stop } of systems.values()) await stop();
  }
  for (const what of ['endToEnd', 'backlog']) yield* figures(systems, what, { nodes, slots, tasks });
}

function contestants({ nodes, slots, databaseUrl, profile }) {
  const muster = (url) => async () => {
    const plugins = { noop: modulePlugin('noop') };
    const fleet = await startTaskFleet({ databaseUrl: url, profile, agents: nodes, tasks: { max: slots, plugins } });
    await warmUp(fleet);
    return {
      addAndWork: (count) => endToEnd(fleet, count),
      workOff: (count) => backlog(fleet, count),
      profile: () => fleet.server.profile(),
      stop: fleet.stop,
    };
  };
  const sqlite = { sqlite: muster(undefined) };
  if (databaseUrl === undefined) return sqlite;
  const peers = Object.entries(taskPeers(databaseUrl, { workers: nodes, slots })).map(([name, start]) => [
    name,
    async () => {
      const peer = await start();
      if (peer === null) return null;
      return {
        addAndWork: (count) => peer.endToEnd(count),
        workOff: (count) => peer.backlog(count),
        stop: () => peer.stop(),
      };
    },
  ]);
  const floor = async () => {
    const { backlog, stop } = await startFloor(databaseUrl, { agents: nodes, slots });
    return { workOff: backlog, stop };
  };
  return { postgres: muster(databaseUrl), ...sqlite, floor, ...Object.fromEntries(peers) };
}

/** Tasks a second, and microseconds of CPU of each task, by who used them. */
function eachOf(tasks, { ms, cpu }) {
  const parts = Object.entries(cpu).map(([name, seconds]) => [name, (seconds * 1e6) / tasks]);
  return {
    rate: perSecond(tasks, ms),
    cpu: { all: parts.reduce((sum, [, us]) => sum + us, 0), ...Object.fromEntries(parts) },
  };
}

const rounded = (cpu) => Object.fromEntries(Object.entries(cpu).map(([name, us]) => [name, Number(us.toFixed(1))]));

const shown = ({ rate, cpu }) => `${rate} tasks/s, µs of CPU a task ${JSON.stringify(rounded(cpu))}`;

/** Of each name by itself. */
function medianCpu(samples) {
  const names = Object.keys(samples[0].cpu);
  return rounded(Object.fromEntries(names.map((name) => [name, median(samples.map(({ cpu }) => cpu[name]))])));
}

/** That on PostgreSQL is beside the fastest peer, that on SQLite beside that on PostgreSQL. */
function* figures(systems, what, size) {
  const figure = what === 'backlog' ? 'tasks-noop-backlog' : 'tasks-noop';
  const rates = (name) => systems.get(name)[what].map(({ rate }) => rate);
  const value = (name) => Math.round(median(rates(name)));
  const line = (database, peer, more) => ({
    figure,
    value: value(database),
    unit: 'tasks/s',
    target: peer,
    peer,
    ratio: peer === null ? null : Number((value(database) / peer).toFixed(2)),
    database,
    ...size,
    samples: rates(database),
    cpu_us: medianCpu(systems.get(database)[what]),
    ...more,
  });
  if (!systems.has('postgres')) return yield line('sqlite', null, {});
  const peers = [...systems.keys()].filter((name) => !['postgres', 'sqlite', 'floor'].includes(name));
  const fastest = Math.max(...peers.map(value));
  yield line('postgres', fastest, {
    ...(what === 'backlog' && { floor: value('floor'), floor_cpu_us: medianCpu(systems.get('floor').backlog) }),
    peers: Object.fromEntries(peers.map((name) => [name, value(name)])),
    peer_samples: Object.fromEntries(peers.map((name) => [name, rates(name)])),
    peer_cpu_us: Object.fromEntries(peers.map((name) => [name, medianCpu(systems.get(name)[what])])),
  });
  yield line('sqlite', value('postgres'), {});
}
