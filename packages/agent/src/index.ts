export { type BootSurroundings, bootDaemon } from './boot.js';
export {
  type AgentConfig,
  AgentConfigSchema,
  type CommandEntry,
  CommandEntrySchema,
  loadAgentConfig,
  parseAgentConfig,
} from './config.js';
export type { Daemon } from './daemon.js';
export { type CheckName, type Diagnosis, type DoctorCheck, doctor } from './doctor.js';
export { tokenOf } from './enrol-token.js';
export type { Exit, Launch, RunningCommand } from './execution/runner.js';
export type { Processes } from './execution/system-processes.js';
export { AGENT_VERSION, collectFacts } from './facts.js';
export type { Host } from './host.js';
export type { ConfigurationAnswer, NodeIdentity } from './link/configuration-request.js';
export type { CommandSocket, CurveKeys, ReceivingSocket, SocketEvent, Sockets } from './link/sockets.js';
export { type AgentLog, createAgentLogger } from './logging.js';
export { initialMachine, type Machine, reportedState, step } from './push/machine.js';
export type { AgentOptions, AgentSettings } from './settings.js';
export { type AgentSurroundings, type RunningAgent, startAgent } from './start.js';
