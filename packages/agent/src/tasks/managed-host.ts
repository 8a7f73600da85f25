import type { Clock, Timer } from '@muster/base';
import type { TaskRef } from '@muster/wire';
import { HOST_START_MS } from '../limits.js';
import type { AgentLog } from '../logging.js';
import type { HostLink } from './host-link.js';
import { exitText, type HostProcess, HostStartError } from './host-process.js';
import type { HostEvents } from './hosts.js';
import { attemptKey } from './key.js';
import type { FromHost, RunOrder, RunTerms, ToHost } from './protocol.js';

export interface ManagedHostSetup {
  readonly process: HostProcess;
  readonly key: string;
  readonly module: boolean;
  readonly clock: Clock;
  /** Output of an earlier one is not wanted. */
  readonly epoch: () => number;
}

type ManagedHostEvents = Pick<HostEvents, 'held' | 'news' | 'ending' | 'output'> & { closed(): void };

/** One host as the agent knows it: its process, the link to it, and the attempts it was given. */
export class ManagedHost {
  readonly process: HostProcess;
  readonly key: string;
  readonly #setup: ManagedHostSetup;
  readonly #logger: AgentLog;
  readonly #events: ManagedHostEvents;
  /** It takes no more tasks. */
  retired = false;
  /** By their keys; those that are not settled. */
  readonly attempts = new Map<string, TaskRef>();
  #link: HostLink | null = null;
  /** For when it answers. */
  #waiting: ToHost[] = [];
  #greeted: () => void = () => undefined;
  #closed = false;
  /** Said last. */
  #terms: RunTerms | null = null;
  /** It has said what it has. */
  #known = false;

  constructor(setup: ManagedHostSetup, logger: AgentLog, events: ManagedHostEvents) {
    this.#setup = setup;
    this.process = setup.process;
    this.key = setup.key;
    this.#logger = logger;
    this.#events = events;
  }

  /** Resolves when it has said what it has. Throws HostStartError. */
  async open(): Promise<void> {
    let patience: Timer | null = null;
    const link = await new Promise<HostLink>((resolve, reject) => {
      let opened: HostLink | null = null;
      let greeted = false;
      const look = (): void => {
        if (opened !== null && greeted) resolve(opened);
      };
      this.#greeted = () => {
        greeted = true;
        look();
      };
      const closed = (): void => {
        if (this.#link !== null) return this.#events.closed();
        reject(new HostStartError('the host process ended before it said what it has'));
      };
      // A module that blocks its host keeps it from answering; nobody else is to wait for that.
      patience = this.#setup.clock.after(HOST_START_MS, () => {
        this.#known = true;
        reject(new HostStartError('the host process does not say what it has'));
      });
      this.process.link({ message: (message) => this.#hear(message), closed }).then((link) => {
        opened = link;
        look();
      }, reject);
    }).finally(() => patience?.cancel());
    this.#link = link;
    link.send({ t: 'rewind', epoch: this.#setup.epoch() });
    for (const message of this.#waiting.splice(0)) link.send(message);
    if (this.#closed) link.close();
  }

  /** A module may say anything in the name of its host: of attempts of others it is not heard. */
  #hear(message: FromHost): void {
    switch (message.t) {
      case 'held':
        if (!this.#known) this.#events.held(message.attempt);
        return;
      case 'hello':
        this.#known = true;
        return this.#greeted();
      case 'news':
        if (this.#has(message.news)) this.#events.news(message.news);
        return;
      case 'ending':
        if (this.#has(message)) this.#events.ending(message, message.ending);
        return;
      case 'output':
        if (message.epoch === this.#setup.epoch() && this.#has(message)) this.#events.output(message);
        return;
      case 'retiring':
        this.retired = true;
        this.#logger.info({ reason: message.reason }, 'a worker process takes no more tasks');
        return;
      case 'log':
        return this.#logger[message.level](message.text);
    }
  }

  #has(ref: TaskRef): boolean {
    return this.attempts.has(attemptKey(ref));
  }

  send(message: ToHost): void {
    if (this.#link === null) this.#waiting.push(message);
    else this.#link.send(message);
  }

  run({ task, secrets, ...terms }: RunOrder): void {
    if (!areSame(this.#terms, terms)) {
      this.#terms = terms;
      this.send({ t: 'terms', terms });
    }
    this.send({ t: 'run', task, ...(secrets && { secrets }) });
  }

  retire(): void {
    if (this.retired) return;
    this.retired = true;
    this.send({ t: 'retire' });
  }

  /** Why its tasks did not end, once it is gone. */
  async lossReason(): Promise<string> {
    const exit = await this.process.exited();
    const how = exit === null ? '' : ` (${exitText(exit)})`;
    if (this.#setup.module) return `the worker process ended${how} while it ran`;
    return `the process that watched it ended${how}`;
  }

  /** One that is being started gets what waits for it first: nothing of it is to keep the agent from ending. */
  close(): void {
    this.#closed = true;
    this.#link?.close();
  }
}

function areSame(said: RunTerms | null, terms: RunTerms): boolean {
  return (
    said?.plugin === terms.plugin &&
    said.timeoutMs === terms.timeoutMs &&
    said.graceMs === terms.graceMs &&
    said.inlineBytes === terms.inlineBytes
  );
}
