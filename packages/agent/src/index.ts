export {
  type AgentConfig,
  AgentConfigSchema,
  type CommandEntry,
  CommandEntrySchema,
  loadAgentConfig,
  parseAgentConfig,
} from './config.js';
export { type CheckName, type Diagnosis, type DoctorCheck, doctor } from './doctor.js';
export { AGENT_VERSION, collectFacts } from './facts.js';
export { createAgentLogger } from './logging.js';
export { initialMachine, type Machine, reportedState, step } from './machine.js';
export type { AgentOptions } from './settings.js';
export { type AgentSurroundings, type RunningAgent, startAgent } from './start.js';
