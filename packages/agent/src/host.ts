import type { Facts } from '@muster/wire';
import { type DurableFiles, durableFiles } from './durable.js';
import { sweepJobFiles } from './execution/job-file.js';
import { type Processes, systemProcesses } from './execution/system-processes.js';
import { collectFacts } from './facts.js';
import { removeSecrets } from './files/secrets.js';
import { type ConfigurationAnswer, type NodeIdentity, requestConfiguration } from './link/configuration-request.js';
import { requestFile } from './link/file-request.js';
import { requestSecrets, requestTaskSecrets } from './link/secret-request.js';
import { type Sockets, zeromqSockets } from './link/sockets.js';
import { runFactsProgram } from './own-facts.js';

/** What the agent uses of its machine and of the network; the simulator gives it others. */
export interface Host {
  readonly sockets: Sockets;
  readonly processes: Processes;
  readonly files: DurableFiles;
  configuration(
    identity: NodeIdentity,
    asking: { readonly curvePublicKey: string; readonly knownKey: string | null },
    now: number,
  ): Promise<ConfigurationAnswer>;
  /** A file of a push job; see requestFile. */
  readonly file: typeof requestFile;
  /** Those of a push job; see requestSecrets. */
  readonly secrets: typeof requestSecrets;
  /** Those of a task; see requestTaskSecrets. */
  readonly taskSecrets: typeof requestTaskSecrets;
  /** What a run has left of them. */
  removeSecrets(directory: string): Promise<void>;
  facts(): Facts;
  /** Those that a program of the node's owner writes; see runFactsProgram. */
  readonly ownFacts: typeof runFactsProgram;
  sweepJobFiles(dir: string, expiryMs: number, now: number): Promise<void>;
}

export const systemHost: Host = {
  sockets: zeromqSockets,
  processes: systemProcesses(null),
  files: durableFiles,
  configuration: requestConfiguration,
  file: requestFile,
  secrets: requestSecrets,
  taskSecrets: requestTaskSecrets,
  removeSecrets,
  facts: collectFacts,
  ownFacts: runFactsProgram,
  sweepJobFiles,
};
