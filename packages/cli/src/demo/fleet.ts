import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeState } from '../api.js';
import { Client } from '../client.js';
import { MusterError } from '../errors.js';
import { loadSettings } from '../settings.js';
import { type DemoProcesses, freePorts } from './processes.js';
import { installPlugin } from './thumbnail.js';

/** Longest wait for a process to come up; a quick machine needs two seconds. */
const READY_MS = 60_000;
const LOOK_AGAIN_MS = 100;

export const DEMO_NODES = ['web1', 'web2', 'web3', 'db1', 'db2'] as const;
/** In the second job this one refuses: its owner did not allow the command. */
export const REFUSING_NODE = 'db1';
/** And this one fails. */
export const FAILING_NODE = 'web3';

/** What each agent's owner allows, and which tasks it runs. */
function agentConfig(name: string, tasks: object): object {
  const check = name === FAILING_NODE ? 'echo "disk is 97% full" >&2; exit 2' : 'echo "disk is 41% full"';
  return {
    commands: { 'uname -a': 'uname -a', ...(name === REFUSING_NODE ? {} : { 'check-disk': { shell: check } }) },
    labels: { role: name.startsWith('web') ? 'web' : 'db', env: 'demo' },
    tasks,
  };
}

export interface DemoServer {
  readonly url: string;
  /** Settings of the CLI, as its first admin. */
  readonly config: string;
  readonly client: Client;
}

/** A server on free ports; resolves when it answers. */
export async function startServer(processes: DemoProcesses): Promise<DemoServer> {
  const [http = 0, heartbeat = 0, command = 0, stomp = 0] = await freePorts(4);
  const dataDir = `${processes.directory}/server`;
  processes.start('server', [
    'server',
    ...['--data-dir', dataDir, '--http', `127.0.0.1:${http}`],
    ...['--heartbeat', `tcp://127.0.0.1:${heartbeat}`, '--command', `tcp://127.0.0.1:${command}`],
    ...['--stomp', `127.0.0.1:${stomp}`, '--heartbeat-interval', '1'],
  ]);
  const url = `http://127.0.0.1:${http}`;
  const config = `${dataDir}/muster.yaml`;
  const client = await until(processes, 'the server answers', async () => {
    const settings = loadSettings({ env: {}, cwd: processes.directory }, { config });
    const found = new Client(settings);
    await found.json('GET', '/_status');
    return found;
  });
  return { url, config, client };
}

/** Five agents that enrol with one token; resolves when all are available. */
export async function startAgents(
  processes: DemoProcesses,
  client: Client,
  onCount: (available: number) => void,
): Promise<void> {
  const { token } = await client.post<{ token: string }>(client.inOrg('tokens'), {
    uses: DEMO_NODES.length,
    ttl: 600,
  });
  const tokenFile = `${processes.directory}/enroll-token`;
  writeFileSync(tokenFile, token, { mode: 0o600 });
  const tasks = installPlugin(processes.directory);
  for (const name of DEMO_NODES) {
    const dataDir = `${processes.directory}/${name}`;
    mkdirSync(dataDir, { mode: 0o700 });
    writeFileSync(`${dataDir}/agent.json`, JSON.stringify(agentConfig(name, tasks), null, 2));
    processes.start(name, [
      'agent',
      ...['--server', client.settings.url, '--org', client.settings.org, '--name', name],
      ...['--enroll-file', tokenFile, '--data-dir', dataDir, '--config', `${dataDir}/agent.json`],
    ]);
  }
  await until(processes, 'all agents are available', async () => {
    const nodes = await client.get<NodeState[]>(client.inOrg('pushy', 'node_states'));
    const available = nodes.filter((node) => node.availability === 'available').length;
    onCount(available);
    return available === DEMO_NODES.length ? true : null;
  });
}

/** Looks again until there is an answer; an error counts as not yet. */
export async function until<T>(processes: DemoProcesses, what: string, look: () => Promise<T | null>): Promise<T> {
  const giveUpAt = Date.now() + READY_MS;
  let reason = '';
  while (Date.now() < giveUpAt) {
    processes.check();
    try {
      const found = await look();
      if (found !== null) return found;
    } catch (error) {
      reason = error instanceof Error ? `: ${error.message}` : '';
    }
    await sleep(LOOK_AGAIN_MS);
  }
  throw new MusterError('demo_failed', { reason: `waited ${READY_MS / 1000} seconds in vain until ${what}${reason}` });
}
