import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpuSeconds } from './proc.mjs';

/** Starts a load generator; its commands are in `fabric-load.mjs`. */
export function startLoad() {
  const child = fork(new URL('./fabric-load.mjs', import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const waiting = new Map();
  let asked = 0;
  const exited = once(child, 'exit');
  child.on('message', ({ id, result, error }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  });
  child.on('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`a load generator exited: ${code ?? signal}`));
  });
  return {
    pid: child.pid,
    tell: (command, options = {}) =>
      new Promise((resolve, reject) => {
        asked += 1;
        waiting.set(asked, { resolve, reject });
        child.send({ id: asked, command, options });
      }),
    async stop() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/**
 * What happens between two moments, of all loads together: deliveries and events a second, and the share of a core that
 * each of the processes used.
 */
export async function watch(loads, pids, milliseconds) {
  const before = await snapshot(loads, pids);
  await sleep(milliseconds);
  const after = await snapshot(loads, pids);
  const seconds = (after.atMs - before.atMs) / 1000;
  return {
    deliveries: (after.received - before.received) / seconds,
    events: (after.events - before.events) / seconds,
    cores: Object.fromEntries(
      Object.keys(pids).map((name) => [name, round2((after.cpu[name] - before.cpu[name]) / seconds)]),
    ),
  };
}

async function snapshot(loads, pids) {
  const cpu = Object.fromEntries(
    Object.entries(pids).map(([name, pid]) => [name, [pid].flat().reduce((sum, each) => sum + cpuSeconds(each), 0)]),
  );
  const counts = await Promise.all(loads.map((load) => load.tell('counts')));
  const sum = (key) => counts.reduce((total, each) => total + each[key], 0);
  return { cpu, received: sum('received'), events: sum('events'), atMs: performance.now() };
}

export function sleep(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

export const round2 = (value) => Math.round(value * 100) / 100;
