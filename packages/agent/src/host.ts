import type { Facts } from '@muster/wire';
import { type DurableFiles, durableFiles } from './durable.js';
import { sweepJobFiles } from './execution/job-file.js';
import { type Processes, systemProcesses } from './execution/system-processes.js';
import { collectFacts } from './facts.js';
import { type ConfigurationAnswer, type NodeIdentity, requestConfiguration } from './link/configuration-request.js';
import { type Sockets, zeromqSockets } from './link/sockets.js';

/** What the agent uses of its machine and of the network; the simulator gives it others. */
export interface Host {
  readonly sockets: Sockets;
  readonly processes: Processes;
  readonly files: DurableFiles;
  configuration(identity: NodeIdentity, curvePublicKey: string, now: number): Promise<ConfigurationAnswer>;
  facts(): Facts;
  sweepJobFiles(dir: string, expiryMs: number, now: number): Promise<void>;
}

export const systemHost: Host = {
  sockets: zeromqSockets,
  processes: systemProcesses(null),
  files: durableFiles,
  configuration: requestConfiguration,
  facts: collectFacts,
  sweepJobFiles,
};
