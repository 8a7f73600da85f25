import { fileURLToPath } from 'node:url';
import { startAgents } from './agents.mjs';
import { allAvailable } from './api.mjs';
import { childrenOf } from './proc.mjs';
import { backendsOf, startServer } from './server.mjs';
import { adder, clocked, createQueue, succeededTasks, tellQueue, untilSucceeded } from './tasks.mjs';

/** A module plugin of this folder, as agents are told of it. */
export const modulePlugin = (name) => ({ module: fileURLToPath(new URL(`./${name}-plugin.mjs`, import.meta.url)) });

/** Lets warm up what is measured, and shows that it works at all. */
const WARM_TASKS = 200;

/** A server with real agents, which run tasks as `tasks` says, and a queue `work` for their plugin `noop`. */
export async function startTaskFleet({ databaseUrl, profile, agents, tasks }) {
  const server = await startServer({ databaseUrl, profile });
  let fleet;
  const stop = async () => {
    await fleet?.stop();
    await server.stop();
  };
  try {
    fleet = await startAgents(server, agents, tasks);
    await allAvailable(server, agents);
    await createQueue(server, 'work', { threads: null });
    return { server, fleet, adder: await adder(server), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export async function warmUp({ server, adder: tasks }, queue = 'work', paramsOf = undefined) {
  await tasks.add(queue, WARM_TASKS, paramsOf);
  await untilSucceeded(server, WARM_TASKS);
}

/** From the first of so many tasks that is added until the last has succeeded, and that is stored: as `clocked` says it. */
export async function endToEnd(started, count) {
  const { server, adder: tasks } = started;
  const before = await succeededTasks(server);
  return clocked(
    () => processesOf(started),
    () => Promise.all([tasks.add('work', count), untilSucceeded(server, before + count)]),
  );
}

/** Until all of a backlog has succeeded. */
export async function backlog(started, count) {
  const { server, adder: tasks } = started;
  const before = await succeededTasks(server);
  await tellQueue(server, 'work', 'pause');
  await tasks.add('work', count);
  return clocked(
    () => processesOf(started),
    async () => {
      await tellQueue(server, 'work', 'resume');
      await untilSucceeded(server, before + count);
    },
  );
}

/** Who does the work, but for this process, which adds the tasks. */
async function processesOf({ server, fleet }) {
  const processes = new Map([
    ['server', [server.pid]],
    ['agents', fleet.pids],
    ['hosts', fleet.pids.flatMap(childrenOf)],
  ]);
  if (server.databaseUrl !== undefined) processes.set('postgres', await backendsOf(server.databaseUrl));
  return processes;
}
