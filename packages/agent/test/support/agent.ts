import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentOptions, type RunningAgent, startAgent } from '@muster/agent';
import { systemClock } from '@muster/base';
import type { KeyPair } from '@muster/signing';
import pino, { type Logger } from 'pino';
import { CgroupsUnusable } from '../../src/execution/cgroup.js';
import { openCommandGroups } from '../../src/execution/command-groups.js';
import type { FakeServer } from './fake-server.js';

export const silent: Logger = pino({ level: process.env.MUSTER_TEST_LOG ?? 'silent' });

/** A scratch directory; removed by `dispose`. */
export async function scratch(): Promise<{ readonly dir: string; dispose(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'muster-agent-'));
  return { dir, dispose: () => rm(dir, { recursive: true, force: true }) };
}

/** Whether commands can have control groups on this machine: without, less is promised. */
export async function commandGroupsUsable(dataDir: string): Promise<boolean> {
  try {
    await openCommandGroups({ dataDir, limits: undefined, logger: silent });
    return true;
  } catch (error) {
    if (error instanceof CgroupsUnusable) return false;
    throw error;
  }
}

export async function startTestAgent(
  server: FakeServer,
  keys: KeyPair,
  dir: string,
  config: Record<string, unknown> = { allow_any: true },
  extra: Partial<AgentOptions> = {},
): Promise<RunningAgent> {
  const key = join(dir, 'key.pem');
  const file = join(dir, 'agent.json');
  await writeFile(key, keys.privateKey, { mode: 0o600 });
  await writeFile(file, JSON.stringify(config));
  server.nodeKey = keys.publicKey;
  const options = { server: server.url, org: 'acme', name: 'node1', key, config: file, dataDir: join(dir, 'data') };
  return startAgent({ ...options, ...extra }, { clock: systemClock, logger: silent, random: () => 0.5 });
}
