export { type BootSurroundings, bootDaemon } from './boot.js';
export {
  type AgentConfig,
  AgentConfigSchema,
  type CommandEntry,
  CommandEntrySchema,
  loadAgentConfig,
  parseAgentConfig,
} from './config.js';
export type { ConfigurationAnswer, NodeIdentity } from './configuration-request.js';
export type { Daemon } from './daemon.js';
export { type CheckName, type Diagnosis, type DoctorCheck, doctor } from './doctor.js';
export { AGENT_VERSION, collectFacts } from './facts.js';
export type { Host, Processes } from './host.js';
export { type AgentLog, createAgentLogger } from './logging.js';
export { initialMachine, type Machine, reportedState, step } from './machine.js';
export type { Exit, Launch, RunningCommand } from './runner.js';
export type { AgentOptions, AgentSettings } from './settings.js';
export type { CommandSocket, CurveKeys, ReceivingSocket, SocketEvent, Sockets } from './sockets.js';
export { type AgentSurroundings, type RunningAgent, startAgent } from './start.js';
