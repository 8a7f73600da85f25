import { AgentProcess } from './agent-process.js';
import { ORG } from './node-request.js';
import type { World } from './world.js';

/** Jobs of each node that are asked for again. */
const MOST = 10;
const ANSWER_MS = 5_000;

/**
 * The server asks every node for what it has run already, as the shipped one never does: one that was given an old
 * database, or that somebody stole, might. What a node remembers must be enough to run nothing twice.
 */
export async function askAgain(world: World): Promise<void> {
  const { nodes, timeline } = world;
  const [server] = world.servers.answering;
  if (world.violation !== null || server === undefined) return;
  world.trace.say(() => '--- the server asks for what has run already ---');
  for (const { agent, plan } of nodes) {
    if (!(agent instanceof AgentProcess)) continue;
    for (const jobId of agent.began.slice(-MOST)) {
      const command = `work ${jobId} 0 0 0`;
      server.nodes.registry.send(ORG.id, [plan.name], { type: 'prepare', jobId, command, capture: false, options: {} });
      server.nodes.registry.send(ORG.id, [plan.name], { type: 'start', jobId });
    }
  }
  const until = timeline.now + ANSWER_MS;
  while (world.violation === null && (await world.step(until)));
}
