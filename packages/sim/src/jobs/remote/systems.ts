import { posix } from 'node:path';
import { Readable } from 'node:stream';
import {
  Failed,
  type Files,
  type Launch,
  type OpenSystem,
  type RemoteJob,
  type Scheduler,
  type Systems,
  SystemTrouble,
  type TroubleKind,
} from '@muster/jobs/parts';
import type { Random } from '../../kernel/random.js';
import type { Process, Timeline } from '../../kernel/timeline.js';
import { ORG } from '../organization.js';
import type { RemoteSystem, Trouble } from './system.js';

/** What is seen of what a process does to a system. */
export interface Witness {
  /** It asks for something that only who has the job may ask for. */
  acts(holder: string, uuid: string, what: string): void;
  /** Whether the program of a job was submitted before. */
  asked(holder: string, uuid: string, known: boolean): void;
  submits(holder: string, uuid: string, system: RemoteSystem): void;
  /** A program starts, or would have started for a second time. */
  submitted(holder: string, launch: Launch, first: boolean, system: RemoteSystem): void;
}

export interface SystemsWorld {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly systems: ReadonlyMap<string, RemoteSystem>;
  readonly latencyMs: number;
  readonly witness: Witness;
}

const SILENCE_MS = 20_000;
const SLOW_MS = 4_000;
const JOB = /job-([\da-f-]{36}-007)/;

/** The systems as one process reaches them: what it has sent arrives, also when nobody waits for the answer any more. */
export class SimulatedSystems implements Systems {
  readonly #world: SystemsWorld;
  readonly #process: Process;
  readonly #holder: string;

  constructor(world: SystemsWorld, process: Process, holder: string) {
    this.#world = world;
    this.#process = process;
    this.#holder = holder;
  }

  async open(orgId: string, name: string): Promise<OpenSystem> {
    const remote = orgId === ORG.id ? this.#world.systems.get(name) : undefined;
    if (remote === undefined) throw new Failed('JOB_REMOTE_ACCESS_ERROR', `there is no execution system '${name}'`);
    if (!remote.enabled) throw new SystemTrouble(name, 'SYSTEM_NOT_AVAILABLE', `execution system ${name} is disabled`);
    const exec = (): Promise<never> => Promise.reject(new Error('nothing is run by hand here'));
    return {
      system: remote.definition,
      connection: { files: this.#files(remote), exec },
      scheduler: this.#scheduler(remote),
    };
  }

  async close(): Promise<void> {}

  #files(remote: RemoteSystem): Files {
    const { witness } = this.#world;
    const acts = (path: string, what: string): void => {
      const uuid = JOB.exec(path)?.[1];
      if (uuid !== undefined) witness.acts(this.#holder, uuid, what);
    };
    return {
      stat: (path) => this.#call(remote, () => remote.stat(path)),
      list: (path, page) => this.#call(remote, () => remote.list(path, page)),
      read: async (path, { start = 0, end } = {}) => {
        const bytes = await this.#call(remote, () => remote.read(path));
        return Readable.from([bytes.subarray(start, end)]);
      },
      write: async (path, source, { mode = 0o600, signal }) => {
        signal?.throwIfAborted();
        const pieces: Buffer[] = [];
        for await (const piece of await source(0)) pieces.push(Buffer.from(piece));
        signal?.throwIfAborted();
        acts(path, `writes ${posix.basename(path)}`);
        const bytes = Buffer.concat(pieces);
        await this.#call(remote, () => remote.write(path, { bytes, mode }), 'full');
        return bytes.length;
      },
      makeDirectory: (path) => this.#call(remote, () => remote.makeDirectory(path), 'full'),
      remove: (path) => {
        acts(path, `removes ${posix.basename(path)}`);
        return this.#call(remote, () => remote.remove(path));
      },
    };
  }

  #scheduler(remote: RemoteSystem): Scheduler {
    const { witness } = this.#world;
    const holder = this.#holder;
    const follow: NonNullable<Scheduler['follow']> = ({ uuid }: RemoteJob, changed) => {
      const tell = (): void => void this.#world.timeline.after(this.#latency(remote), this.#process, changed);
      const followers = remote.programs.get(uuid)?.followers;
      followers?.add(tell);
      return () => followers?.delete(tell);
    };
    return {
      submit: async (launch) => {
        witness.acts(holder, launch.uuid, 'submits');
        witness.submits(holder, launch.uuid, remote);
        const { remoteJobId } = await this.#call(
          remote,
          () => {
            const submitted = remote.submit(launch);
            witness.submitted(holder, launch, submitted.first, remote);
            return submitted;
          },
          'busy',
        );
        return { remoteJobId };
      },
      find: ({ uuid }) =>
        this.#call(remote, () => {
          const found = remote.find(uuid);
          witness.asked(holder, uuid, found !== null);
          return found;
        }),
      look: ({ uuid }) => this.#call(remote, () => remote.look(uuid)),
      kill: ({ uuid }) => this.#call(remote, () => remote.kill(uuid)),
      ...(remote.plan.tells && { follow }),
    };
  }

  /** @param refused The trouble in which this is refused, besides those that concern everything. */
  #call<T>(remote: RemoteSystem, work: () => T, refused: Trouble | null = null): Promise<T> {
    const { timeline, random } = this.#world;
    const { name } = remote.definition;
    const trouble = (kind: TroubleKind): SystemTrouble => new SystemTrouble(name, kind, `${name}: ${kind}`);
    return new Promise<T>((resolve, reject) => {
      const answer = (settle: () => void): void => {
        timeline.after(this.#latency(remote), this.#process, settle);
      };
      timeline.after(this.#latency(remote), null, () => {
        const { trouble: now } = remote;
        const { clock } = this.#process;
        if (now === 'silent') return void clock.after(SILENCE_MS, () => reject(trouble('CONNECTION_TIMEOUT')));
        if (now === 'unreachable') return answer(() => reject(trouble('CONNECTION_FAILURE')));
        if (now === 'refuses the login') return answer(() => reject(trouble('AUTHENTICATION_FAILED')));
        if (now !== null && now === refused) {
          return answer(() => reject(trouble(now === 'full' ? 'DISK_FULL' : 'SCHEDULER_BUSY')));
        }
        let done: T;
        try {
          done = work();
        } catch (error) {
          return answer(() => reject(error));
        }
        if (now === 'loses answers' && random.chance(0.5)) answer(() => reject(trouble('TRANSMISSION_FAILURE')));
        else answer(() => resolve(done));
      });
    });
  }

  #latency({ trouble }: RemoteSystem): number {
    return this.#world.random.around(trouble === 'slow' ? SLOW_MS : this.#world.latencyMs);
  }
}
