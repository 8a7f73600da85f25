import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalFiles } from '../../src/systems/local/files.js';
import {
  type Files,
  type Launch,
  type OpenSystem,
  type RemoteState,
  type Scheduler,
  type Submitted,
  type System,
  type Systems,
  SystemTrouble,
} from '../../src/systems/types.js';
import { Failed } from '../../src/types.js';
import { ORG } from './jobs.js';

/** Programs that tests play. One is started at most once, as the wrapper sees to. */
export class PlayedScheduler implements Scheduler {
  /** How often it was asked to submit. */
  readonly submits: Launch[] = [];
  /** Programs that began, by job. */
  readonly started = new Map<string, string>();
  readonly killed: string[] = [];
  readonly looks: string[] = [];
  readonly states = new Map<string, RemoteState>();
  /** Of programs for which no state is set. */
  state: RemoteState = { state: 'ended', code: 0, condition: null, detail: '' };
  onSubmit: (launch: Launch) => Promise<void> | void = () => undefined;
  afterSubmit: (launch: Launch) => Promise<void> | void = () => undefined;
  onLook: () => void = () => undefined;
  killAnswer: 'ended' | 'unsure' = 'ended';
  readonly #woken = new Set<() => void>();

  async submit(launch: Launch): Promise<Submitted> {
    this.submits.push(launch);
    await this.onSubmit(launch);
    const remoteJobId = this.started.get(launch.uuid) ?? `r${this.started.size + 1}`;
    this.started.set(launch.uuid, remoteJobId);
    await this.afterSubmit(launch);
    return { remoteJobId };
  }

  async find({ uuid }: Launch): Promise<Submitted | null> {
    const remoteJobId = this.started.get(uuid);
    return remoteJobId === undefined ? null : { remoteJobId };
  }

  async look({ uuid }: { readonly uuid: string }): Promise<RemoteState> {
    this.looks.push(uuid);
    this.onLook();
    return this.states.get(uuid) ?? this.state;
  }

  async kill({ uuid }: { readonly uuid: string }): Promise<'ended' | 'unsure'> {
    this.killed.push(uuid);
    if (this.killAnswer === 'ended') this.states.set(uuid, { state: 'ended', code: null, condition: null, detail: '' });
    return this.killAnswer;
  }

  follow = (_job: object, changed: () => void): (() => void) => {
    this.#woken.add(changed);
    return () => this.#woken.delete(changed);
  };

  /** It tells whoever follows. */
  set(uuid: string, state: RemoteState): void {
    this.states.set(uuid, state);
    for (const changed of [...this.#woken]) changed();
  }
}

export interface PlayedSystem extends OpenSystem {
  readonly scheduler: PlayedScheduler;
  readonly system: System;
}

/** Systems with real files, below a directory of the test. */
export class PlayedSystems implements Systems {
  readonly root = mkdtempSync(join(tmpdir(), 'muster-jobs-'));
  readonly #systems = new Map<string, PlayedSystem>();
  /** What opening one throws. */
  readonly troubles = new Map<string, Error>();
  opened = 0;

  add(name: string, given: Partial<System> = {}, wrapped: (files: Files) => Files = (files) => files): PlayedSystem {
    const system: System = {
      id: `${ORG.id}/${name}`,
      uuid: `${name}-uuid`,
      orgId: ORG.id,
      name,
      type: 'local',
      scheduler: 'fork',
      root: join(this.root, name),
      scratch: 'work',
      queues: [],
      enabled: true,
      default: false,
      owner: 'sysadm',
      ...given,
    };
    const exec = () => Promise.reject(new Error('played systems run no commands'));
    const made = {
      system,
      connection: { files: wrapped(new LocalFiles(system)), exec },
      scheduler: new PlayedScheduler(),
    };
    this.#systems.set(name, made);
    return made;
  }

  get(name: string): PlayedSystem {
    const found = this.#systems.get(name);
    if (found === undefined) throw new Error(`no system ${name}`);
    return found;
  }

  async open(_orgId: string, name: string): Promise<OpenSystem> {
    this.opened += 1;
    const trouble = this.troubles.get(name);
    if (trouble !== undefined) throw trouble;
    const found = this.#systems.get(name);
    if (found === undefined) throw new Failed('JOB_INVALID_DEFINITION', `there is no system ${name}`);
    return found;
  }

  /** It cannot be reached from now on; null: it can. */
  trouble(name: string, kind: ConstructorParameters<typeof SystemTrouble>[1] | null): void {
    if (kind === null) this.troubles.delete(name);
    else this.troubles.set(name, new SystemTrouble(name, kind, `system ${name} cannot be reached`));
  }

  async close(): Promise<void> {
    rmSync(this.root, { recursive: true, force: true });
  }
}
