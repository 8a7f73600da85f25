import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startSimulatedNodes } from '@muster/sim';
import { allAvailable, call, metrics, ORG, rounded, series } from './api.mjs';
import { cpuSeconds } from './proc.mjs';
import { MUSTER, startServer } from './server.mjs';

export const about =
  'N nodes that write --rate lines a second each for --seconds, all shown by one `muster push watch`: the lag of the server';
export const defaults = { nodes: 1000, rate: 100, seconds: 20 };

/** The loop of the server is never held up for longer, so that everybody else is answered. */
const LAG_MS = 100;
const LOOK_EVERY_MS = 1000;
/** After the last line was written, the watch may take this long to show the rest. */
const PATIENCE_MS = 120_000;

/**
 * Each line tells when it was written and which one it is: the watch has to show each, of each node in its order. `lag` is the longest of the
 * event loop of the server; `late` is from writing a line until the watch has shown it, of 95 of 100 and the latest.
 */
export async function* run({ nodes, rate, seconds, databaseUrl, profile }) {
  const server = await startServer({ databaseUrl, profile });
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-live-'));
  try {
    // The nodes and whoever watches have machines of their own: here they take what the server leaves them.
    setPriority(process.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    const output = { rate, seconds };
    const fleet = await startSimulatedNodes({
      server: server.url,
      org: ORG,
      count: nodes,
      admin: server.admin,
      output,
    });
    try {
      await allAvailable(server, nodes);
      const settings = join(dir, 'muster.json');
      const key = join(dir, 'admin.pem');
      writeFileSync(key, server.admin.privateKey, { mode: 0o600 });
      writeFileSync(settings, JSON.stringify({ url: server.url, org: ORG, user: server.admin.name, key }));
      // What happened before is not part of the figure.
      await metrics(server);
      server.profile();
      const cpu = cpuSeconds(server.pid);
      const lags = lagsOf(server);
      const seen = await watched(await posted(server, fleet.names), settings, seconds * 1000 + PATIENCE_MS);
      const lag = await lags.stop();
      server.profile();
      const lines = nodes * rate * seconds;
      yield {
        ...{ figure: 'live-output', value: rounded(lag), unit: 'ms', target: LAG_MS },
        ...{ nodes, rate, seconds, lines: seen.lines, missing: lines - seen.lines },
        ...{ late_95: seen.late(0.95), late_most: seen.late(1) },
        server_cores: rounded((cpuSeconds(server.pid) - cpu) / (seen.tookMs / 1000)),
        cli_cores: rounded(seen.cpuSeconds / (seen.tookMs / 1000)),
        ...(seen.lines === lines ? {} : { error: `${lines - seen.lines} lines of ${lines} were not shown` }),
      };
    } finally {
      await fleet.stop();
    }
  } finally {
    await server.stop();
    rmSync(dir, { recursive: true });
  }
}

async function posted(server, nodes) {
  const path = `/organizations/${ORG}/pushy/jobs`;
  const answer = await call(server, 'POST', path, { command: 'write', nodes, capture_output: true });
  if (answer.status !== 201) throw new Error(`POST jobs: ${answer.status} ${await answer.text()}`);
  return (await answer.json()).id;
}

/** Everything that the watch shows, until it ends. */
async function watched(job, settings, patienceMs) {
  const began = performance.now();
  const args = [MUSTER, '--config', settings, 'push', 'watch', job, '--output', 'live'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  const next = new Map();
  const late = [];
  let used = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [, node, at, number] = /^(\S+): (\d+) (\d+) /.exec(line) ?? [];
    if (node === undefined) continue;
    const expected = next.get(node) ?? 0;
    if (Number(number) !== expected) throw new Error(`${node} shows line ${number} after ${expected - 1}`);
    next.set(node, expected + 1);
    late.push(Date.now() - Number(at));
    if (late.length % 10_000 === 0) used = cpuSeconds(child.pid);
  }
  await exited;
  clearTimeout(timer);
  late.sort((one, other) => one - other);
  return {
    lines: late.length,
    late: (share) => late[Math.max(0, Math.ceil(late.length * share) - 1)] ?? null,
    cpuSeconds: used,
    tookMs: performance.now() - began,
  };
}

/** The longest lag of the server's loop, which it tells since it was asked before. */
function lagsOf(server) {
  let longest = 0;
  const look = async () => {
    longest = Math.max(longest, series(await metrics(server), 'nodejs_eventloop_lag_max_seconds') * 1000);
  };
  const timer = setInterval(() => look().catch(() => undefined), LOOK_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      await look();
      return longest;
    },
  };
}
