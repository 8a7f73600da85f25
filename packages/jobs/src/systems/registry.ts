import type { Clock } from '@muster/base';
import { type SecretOf, SshTrouble } from '@muster/platform/ssh';
import { MusterError } from '../errors.js';
import { Failed } from '../types.js';
import { agentConnection } from './agent/connection.js';
import type { AgentReach } from './agent/types.js';
import { localConnection } from './local/local.js';
import { ForkScheduler } from './schedulers/fork.js';
import { SlurmScheduler } from './schedulers/slurm.js';
import { sshConnection } from './ssh/ssh.js';
import type { SystemStore } from './system-store.js';
import { TaskScheduler } from './tasks/scheduler.js';
import type { TaskRunner } from './tasks/types.js';
import { type Connection, type OpenSystem, type Scheduler, type System, type Systems, SystemTrouble } from './types.js';

export interface SystemsDeps {
  readonly systems: Pick<SystemStore, 'find' | 'secretOf'>;
  readonly clock: Clock;
  readonly tasks: TaskRunner;
  readonly agents: AgentReach;
  /** Until a connection that nobody uses is closed. */
  readonly idleMs?: number;
}

/** Systems that were opened and not forgotten yet; those that rest are forgotten first. */
const MOST_KEPT = 1000;

interface Kept {
  /** What the connection was made from. */
  readonly definition: string;
  readonly connection: Connection;
  readonly scheduler: Scheduler;
  /** What may be closed; null: it needs no closing. */
  readonly remote: RemoteConnection | null;
}

/** A connection to another machine. */
interface RemoteConnection extends Connection {
  /** Nobody uses it, and nothing is open. */
  readonly resting: boolean;
  close(): void;
}

/** One connection for each system of a process, shared by all its jobs. */
export class OpenSystems implements Systems {
  readonly #deps: SystemsDeps;
  readonly #kept = new Map<string, Kept>();

  constructor(deps: SystemsDeps) {
    this.#deps = deps;
  }

  async open(orgId: string, name: string): Promise<OpenSystem> {
    const system = await this.#deps.systems.find(orgId, name);
    if (system === null) throw new Failed('JOB_REMOTE_ACCESS_ERROR', `there is no system '${name}'`);
    if (!system.enabled) throw new SystemTrouble(name, 'SYSTEM_NOT_AVAILABLE', `system ${name} is disabled`);
    const { connection, scheduler } = this.#opened(system);
    return { system, connection, scheduler };
  }

  async close(): Promise<void> {
    for (const { remote } of this.#kept.values()) remote?.close();
    this.#kept.clear();
  }

  #opened(system: System): Kept {
    const definition = definitionOf(system);
    const kept = this.#kept.get(system.id);
    // One that was changed: who works with the former connection may end, and it closes when nobody does.
    if (kept?.definition === definition) return kept;
    const remote = this.#remote(system);
    const connection = remote ?? localConnection(system, this.#deps.clock);
    const opened = { definition, connection, remote, scheduler: this.#scheduler(system, connection) };
    this.#kept.delete(system.id);
    this.#forgetOne();
    this.#kept.set(system.id, opened);
    return opened;
  }

  /** null: it is this machine. */
  #remote(system: System): RemoteConnection | null {
    const { clock, idleMs } = this.#deps;
    const options = idleMs === undefined ? { clock } : { clock, idleMs };
    switch (system.type) {
      case 'ssh':
        return sshConnection(system, this.#secretOf(system), options);
      case 'agent':
        return agentConnection(system, this.#deps.agents, options);
      default:
        return null;
    }
  }

  #secretOf(system: System): SecretOf {
    const { systems } = this.#deps;
    return async () => {
      try {
        return (await systems.secretOf(system)) ?? {};
      } catch (error) {
        if (!(error instanceof MusterError) || error.code !== 'secret_unreadable') throw error;
        throw new SshTrouble('AUTHENTICATION_FAILED', error.message, { cause: error });
      }
    };
  }

  #scheduler(system: System, connection: Connection): Scheduler {
    const { clock, tasks } = this.#deps;
    switch (system.scheduler) {
      case 'fork':
        return new ForkScheduler(system.name, connection, clock);
      case 'slurm':
        return new SlurmScheduler(system.name, connection, clock);
      case 'tasks':
        return new TaskScheduler(system, connection, tasks, clock);
    }
  }

  #forgetOne(): void {
    if (this.#kept.size < MOST_KEPT) return;
    for (const [id, { remote }] of this.#kept) {
      if (remote !== null && !remote.resting) continue;
      this.#kept.delete(id);
      return;
    }
  }
}

/** Another host, another account, another way: what is open is not it any more. */
function definitionOf(system: System): string {
  const { name, type, scheduler, host, port, user, hostKey, node, queue, environment, root } = system;
  return JSON.stringify([name, type, scheduler, host, port, user, hostKey, node, queue, environment, root]);
}
