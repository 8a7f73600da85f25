import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startAgents } from './agents.mjs';
import { allAvailable, pushJob, rounded } from './api.mjs';
import { residentMib } from './proc.mjs';
import { median, startServer } from './server.mjs';

export const about = 'Resident memory of real agents that are idle, after they ran a command (--nodes, --seconds)';
export const defaults = { nodes: 5, seconds: 60 };

const TARGET_MIB = 80;

/** The floor is Node itself: a process that does nothing. */
export async function* run({ nodes, seconds, databaseUrl }) {
  const server = await startServer({ databaseUrl });
  try {
    const agents = await startAgents(server, nodes);
    try {
      await allAvailable(server, nodes);
      await pushJob(server, agents.names);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      const samples = agents.pids.map(residentMib);
      const [value, floor] = [Math.max(...samples), await bareNode()];
      yield {
        figure: 'agent-memory',
        value: rounded(value),
        unit: 'MiB',
        target: TARGET_MIB,
        floor: rounded(floor),
        ratio: rounded(value / floor),
        nodes,
        median: rounded(median(samples)),
        samples: samples.map(rounded),
      };
    } finally {
      await agents.stop();
    }
  } finally {
    await server.stop();
  }
}

async function bareNode() {
  const child = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1000)'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  const resident = residentMib(child.pid);
  child.kill();
  return resident;
}
