import { fileURLToPath } from 'node:url';
import { startAgents } from './agents.mjs';
import { allAvailable } from './api.mjs';
import { startServer } from './server.mjs';
import { adder, createQueue, succeededTasks, tellQueue, untilSucceeded } from './tasks.mjs';

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

/** Milliseconds from the first of so many tasks that is added until the last has succeeded, and that is stored. */
export async function endToEnd({ server, adder: tasks }, count) {
  const before = await succeededTasks(server);
  const began = performance.now();
  await Promise.all([tasks.add('work', count), untilSucceeded(server, before + count)]);
  return performance.now() - began;
}

/** Milliseconds until all of a backlog has succeeded. */
export async function backlog({ server, adder: tasks }, count) {
  const before = await succeededTasks(server);
  await tellQueue(server, 'work', 'pause');
  await tasks.add('work', count);
  const began = performance.now();
  await tellQueue(server, 'work', 'resume');
  await untilSucceeded(server, before + count);
  return performance.now() - began;
}
