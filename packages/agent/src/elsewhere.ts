// For a process that does the work of agents for machines that have none: it loads neither sockets nor what runs processes of its own.
export { type BootSurroundings, bootDaemon } from './boot.js';
export { type AgentConfig, AgentConfigSchema, parseAgentConfig } from './config.js';
export type { Daemon } from './daemon.js';
export { durableFiles } from './durable.js';
export { commandPolicy } from './execution/command-policy.js';
export { RUN_MARKER } from './execution/environment.js';
export type { Run } from './execution/process-tree.js';
export { type Exit, type Launch, LaunchError, type RunningCommand } from './execution/runner.js';
export type { Processes } from './execution/system-processes.js';
export { toldCommands } from './execution/told-commands.js';
export type { Host } from './host.js';
export type { NodeIdentity } from './link/configuration-request.js';
export { Inbox } from './link/inbox.js';
export type { CommandSocket, CurveKeys, ReceivingSocket, SocketEvent, Sockets } from './link/sockets.js';
export type { AgentLog } from './logging.js';
export type { AgentSettings } from './settings.js';
