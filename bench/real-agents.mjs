import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAgents, timed } from './agents.mjs';
import { allAvailable, pushJob, rounded } from './api.mjs';
import { median, startServer } from './server.mjs';

export const about = 'A command that does nothing on N real agents, beside `ansible all -m raw` with N forks, local';
export const defaults = { nodes: 50, rounds: 5 };

/** At least ten times faster than the peer. */
const FACTOR = 10;

/**
 * Both run `true` on every node: Muster by an agent process each, in which the command is a child; Ansible by a fork
 * each over a local connection, without a Python module. Needs `ansible` in the path (Debian: `apt-get install
 * ansible-core`).
 */
export async function* run({ nodes, rounds, databaseUrl, profile }) {
  const peer = await ansible(nodes, rounds);
  const server = await startServer({ databaseUrl, profile });
  try {
    const agents = await startAgents(server, nodes);
    try {
      await allAvailable(server, nodes);
      const times = [];
      for (let round = 0; round < rounds; round++) {
        times.push(await pushJob(server, agents.names));
        await allAvailable(server, nodes);
      }
      yield figure('real-agents', times, peer, nodes);
    } finally {
      await agents.stop();
    }
  } finally {
    await server.stop();
  }
}

function figure(name, times, peerTimes, nodes) {
  const [value, peer] = [median(times), median(peerTimes)];
  return {
    figure: name,
    value: rounded(value),
    unit: 'ms',
    target: rounded(peer / FACTOR),
    peer: rounded(peer),
    ratio: Number((value / peer).toFixed(3)),
    nodes,
    samples: times.map(rounded),
    peer_samples: peerTimes.map(rounded),
  };
}

async function ansible(nodes, rounds) {
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-ansible-'));
  const inventory = join(dir, 'hosts');
  const hosts = Array.from({ length: nodes }, (_, n) => `node-${n} ansible_connection=local\n`);
  writeFileSync(inventory, hosts.join(''));
  const args = ['all', '-i', inventory, '-m', 'raw', '-a', 'true', '-f', String(nodes)];
  const env = { ...process.env, ANSIBLE_LOCALHOST_WARNING: 'False', HOME: dir };
  try {
    const times = [];
    for (let round = 0; round < rounds; round++) times.push(await timed('ansible', args, { cwd: dir, env }));
    return times;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
