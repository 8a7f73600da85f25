import type { Facts } from '@muster/wire';
import { type ConfigurationAnswer, type NodeIdentity, requestConfiguration } from './configuration-request.js';
import { type DurableFiles, durableFiles } from './durable.js';
import { collectFacts } from './facts.js';
import { sweepJobFiles } from './job-file.js';
import { killRun } from './process-tree.js';
import { launch } from './runner.js';
import { type Sockets, zeromqSockets } from './sockets.js';

/** Where commands run. */
export interface Processes {
  readonly launch: typeof launch;
  readonly killRun: typeof killRun;
}

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
  processes: { launch, killRun },
  files: durableFiles,
  configuration: requestConfiguration,
  facts: collectFacts,
  sweepJobFiles,
};
