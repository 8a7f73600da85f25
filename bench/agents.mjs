import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { call, ORG } from './api.mjs';
import { treeCpuSeconds } from './proc.mjs';

const MUSTER = fileURLToPath(new URL('../packages/cli/bin/muster.js', import.meta.url));
const run = promisify(execFile);

/**
 * Real agents as processes of their own, enrolled by token, whose one command `noop` runs `true` unless others are given.
 * @param tasks The part of their configuration about tasks.
 */
export async function startAgents(server, count, tasks = undefined, commands = { noop: 'true' }) {
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-agents-'));
  const config = join(dir, 'agent.json');
  writeFileSync(config, JSON.stringify({ commands, ...(tasks === undefined ? {} : { tasks }) }));
  const issued = await call(server, 'POST', `/organizations/${ORG}/tokens`, { uses: count, ttl: 3600 });
  if (!issued.ok) throw new Error(`a token: ${issued.status} ${await issued.text()}`);
  const { token } = await issued.json();
  const tokenFile = join(dir, 'token');
  writeFileSync(tokenFile, token, { mode: 0o600 });
  const names = Array.from({ length: count }, (_, n) => `agent-${String(n).padStart(3, '0')}`);
  const children = names.map((name) => {
    const data = join(dir, name);
    mkdirSync(data, { mode: 0o700 });
    const args = ['agent', '--server', server.url, '--org', ORG, '--name', name, '--enroll-file', tokenFile];
    args.push('--data-dir', data, '--config', config);
    return spawn(process.execPath, [MUSTER, ...args], { stdio: ['ignore', 'ignore', 'ignore'] });
  });
  return {
    names,
    pids: children.map(({ pid }) => pid),
    /** Of all of them so far, with their commands. */
    cpuSeconds: () => children.reduce((sum, { pid }) => sum + treeCpuSeconds(pid), 0),
    async stop() {
      await Promise.all(
        children.map(async (child) => {
          if (child.exitCode !== null) return;
          const exited = once(child, 'exit');
          child.kill('SIGTERM');
          await exited;
        }),
      );
      endHosts(dir);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Of a bench that failed while tasks ran: the processes that run tasks outlive their agent. */
function endHosts(dir) {
  for (const path of readdirSync(dir, { recursive: true })) {
    if (basename(path) !== 'pid' || !path.includes('/hosts/')) continue;
    const pid = Number.parseInt(readFileSync(join(dir, path), 'utf8'), 10);
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  }
}

/** Milliseconds of a process from its start to its end; it must succeed. */
export async function timed(command, args, options = {}) {
  const began = performance.now();
  await run(command, args, { maxBuffer: 64 * 1024 * 1024, ...options });
  return performance.now() - began;
}
