import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAgents, timed } from './agents.mjs';
import { allAvailable, pushJob, rounded } from './api.mjs';
import { cpuSeconds } from './proc.mjs';
import { median, startServer } from './server.mjs';

export const about = 'A command that does nothing on N real agents, beside `ansible all -m raw` with N forks, local';
export const defaults = { nodes: 50, rounds: 30 };

/** At least ten times faster than the peer. */
const FACTOR = 10;

/**
 * Both run `true` on every node: Muster by an agent process each, in which the command is a child; Ansible by a fork
 * each over a local connection, without a Python module. They take turns, so that what else the machine does slows
 * both, and the first round of each is told and not counted. Needs `ansible` in the path (Debian: `apt-get install
 * ansible-core`).
 */
export async function* run({ nodes, rounds, databaseUrl, profile }) {
  const server = await startServer({ databaseUrl, profile });
  const peer = ansible(nodes);
  try {
    const agents = await startAgents(server, nodes);
    try {
      await allAvailable(server, nodes);
      const cold = await oneRound(server, agents, peer);
      const warm = [];
      for (let round = 0; round < rounds; round++) warm.push(await oneRound(server, agents, peer));
      yield figure('real-agents', warm, cold, nodes);
    } finally {
      await agents.stop();
    }
  } finally {
    await server.stop();
    peer.remove();
  }
}

/** Milliseconds of both, and of CPU that Muster's processes used: the time of a shared machine alone says little. */
async function oneRound(server, agents, peer) {
  const peerMs = await peer.run();
  const before = [agents.cpuSeconds(), cpuSeconds(server.pid)];
  const ms = await pushJob(server, agents.names);
  await allAvailable(server, agents.names.length);
  const after = [agents.cpuSeconds(), cpuSeconds(server.pid)];
  const [agentCpuMs, serverCpuMs] = after.map((seconds, n) => (seconds - before[n]) * 1000);
  return { ms, peerMs, agentCpuMs, serverCpuMs };
}

function figure(name, warm, cold, nodes) {
  const samples = (key) => warm.map((round) => round[key]);
  const mean = (key) => samples(key).reduce((sum, value) => sum + value, 0) / warm.length;
  const [value, peer] = [median(samples('ms')), median(samples('peerMs'))];
  return {
    figure: name,
    value: rounded(value),
    unit: 'ms',
    target: rounded(peer / FACTOR),
    peer: rounded(peer),
    ratio: Number((value / peer).toFixed(3)),
    nodes,
    agent_cpu_ms: Number((mean('agentCpuMs') / nodes).toFixed(2)),
    server_cpu_ms: rounded(mean('serverCpuMs')),
    first: rounded(cold.ms),
    peer_first: rounded(cold.peerMs),
    samples: samples('ms').map(rounded),
    peer_samples: samples('peerMs').map(rounded),
  };
}

function ansible(nodes) {
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-ansible-'));
  const inventory = join(dir, 'hosts');
  const hosts = Array.from({ length: nodes }, (_, n) => `node-${n} ansible_connection=local\n`);
  writeFileSync(inventory, hosts.join(''));
  const args = ['all', '-i', inventory, '-m', 'raw', '-a', 'true', '-f', String(nodes)];
  const env = { ...process.env, ANSIBLE_LOCALHOST_WARNING: 'False', HOME: dir };
  return {
    run: () => timed('ansible', args, { cwd: dir, env }),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
