import type { AgentOptions } from '../settings.js';
import { loadSettings } from '../settings.js';
import type { Supervision } from './supervisor.js';

// For the process that watches over an agent: it loads neither sockets nor what runs commands.
export { createAgentLogger } from '../logging.js';
export { ownSupervisor, type UpgradeSupervisor } from './supervised.js';
export { type RunningSupervisor, superviseAgent } from './supervisor.js';

/** How this agent is watched over; null: its owner does not have it upgraded, and nothing needs to be. Throws `invalid_configuration`. */
export async function supervisionOf(options: AgentOptions): Promise<Pick<Supervision, 'dataDir' | 'graceMs'> | null> {
  const { config, dataDir } = await loadSettings(options);
  return config.upgrade === undefined ? null : { dataDir, graceMs: config.grace * 1000 };
}
