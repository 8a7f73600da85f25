import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Timer } from '@muster/base';
import type { Stream, TaskRef } from '@muster/wire';
import type { Processes } from '../execution/system-processes.js';
import { HOST_RETRY_FIRST_MS, HOST_RETRY_LONGEST_MS } from '../limits.js';
import type { AgentLog } from '../logging.js';
import { hostsDirectory } from './host-files.js';
import { HostProcess, HostStartError } from './host-process.js';
import type { HostEvents, TaskHosts } from './hosts.js';
import { attemptKey } from './key.js';
import { ManagedHost } from './managed-host.js';
import type { Plugin } from './plugins.js';
import { type HostSpec, PROTOCOL_VERSION, type RunOrder } from './protocol.js';

export interface HostPoolSetup {
  /** Of this agent's hosts alone. */
  readonly dir: string;
  readonly node: string;
  /** Version of the agent: another one starts hosts of its own for new tasks. */
  readonly build: string;
  /** What hosts run. */
  readonly main: string;
  readonly clock: Clock;
  readonly logger: AgentLog;
  readonly processes: Processes;
}

/** The host processes of an agent: one for all programs, and for each module as many as its plugin says. */
export class HostPool implements TaskHosts {
  readonly #setup: HostPoolSetup;
  readonly #events: HostEvents;
  readonly #hosts = new Set<ManagedHost>();
  readonly #hostOf = new Map<string, ManagedHost>();
  /** Starts that failed, one after the other. */
  readonly #failures = new Map<string, { readonly count: number; readonly notBefore: number }>();
  /** Starts that wait because others failed. */
  readonly #starts = new Set<Timer>();
  #epoch = 0;

  constructor(setup: HostPoolSetup, events: HostEvents) {
    this.#setup = setup;
    this.#events = events;
  }

  get #hostDir(): string {
    return hostsDirectory(this.#setup.dir);
  }

  get #workDir(): string {
    return join(this.#setup.dir, 'work');
  }

  async find(): Promise<void> {
    for (const dir of [this.#setup.dir, this.#hostDir, this.#workDir]) {
      await mkdir(dir, { recursive: true });
      // Those that tasks run as pass through to what is theirs, and cannot list what is there.
      await chmod(dir, 0o711);
    }
    const names = await readdir(this.#hostDir);
    await Promise.all(names.map((name) => this.#adopt(name)));
  }

  /** A host of an earlier agent goes on as one of this one; what is left of a dead one is ended. */
  async #adopt(name: string): Promise<void> {
    const { logger } = this.#setup;
    const process = this.#process(name);
    const spec = (await process.alive()) ? await process.spec() : null;
    if (spec === null) {
      logger.warn({ host: name }, 'a host of tasks has ended without an agent; what is left of it is ended');
      return this.#clear(process);
    }
    const host = this.#manage(process, spec.key, spec.module !== null);
    this.#hosts.add(host);
    try {
      await host.open();
      logger.info({ host: name, attempts: host.attempts.size }, 'a host of tasks that was running is taken over');
    } catch (error) {
      logger.error({ err: error, host: name }, 'a host of tasks does not answer; it is ended');
      this.#hosts.delete(host);
      await this.#clear(process);
      // It may have begun to say what it has.
      for (const ref of this.#forgetAll(host)) this.#events.gone(ref, 'the process that watched it did not answer');
    }
  }

  async #clear(process: HostProcess): Promise<void> {
    for (const left of await process.clear(this.#workDir)) this.#setup.logger.warn(left);
  }

  #process(name: string): HostProcess {
    return new HostProcess(join(this.#hostDir, name), this.#setup);
  }

  #manage(process: HostProcess, key: string, module: boolean): ManagedHost {
    const { clock, logger } = this.#setup;
    const host: ManagedHost = new ManagedHost({ process, key, module, clock, epoch: () => this.#epoch }, logger, {
      ...this.#events,
      held: (attempt) => {
        const key = attemptKey(attempt);
        if (this.#hostOf.has(key)) return;
        this.#hostOf.set(key, host);
        host.attempts.set(key, attempt);
        this.#events.held(attempt);
      },
      closed: () => void this.#closed(host),
    });
    return host;
  }

  run(order: RunOrder): void {
    const key = attemptKey(order.task);
    if (this.#hostOf.has(key)) return;
    const host = this.#hostFor(order.plugin);
    this.#hostOf.set(key, host);
    host.attempts.set(key, order.task);
    host.run(order);
  }

  /** The one with the least to do; a module gets another as long as all are at work. */
  #hostFor(plugin: Plugin): ManagedHost {
    const key = this.#keyOf(plugin);
    const most = plugin.contract === 'module' ? plugin.processes : 1;
    let least: ManagedHost | undefined;
    let those = 0;
    for (const host of this.#hosts) {
      if (host.key !== key || host.retired) continue;
      those += 1;
      if (least === undefined || host.attempts.size < least.attempts.size) least = host;
    }
    if (least !== undefined && (least.attempts.size === 0 || those >= most)) return least;
    return this.#start(plugin, key);
  }

  #start(plugin: Plugin, key: string): ManagedHost {
    const host = this.#manage(this.#process(`h${randomBytes(6).toString('hex')}`), key, plugin.contract === 'module');
    this.#hosts.add(host);
    const { notBefore = 0 } = this.#failures.get(key) ?? {};
    const start: Timer = this.#setup.clock.after(notBefore - this.#setup.clock.monotonic(), () => {
      this.#starts.delete(start);
      void this.#startNow(host, plugin);
    });
    this.#starts.add(start);
    return host;
  }

  async #startNow(host: ManagedHost, plugin: Plugin): Promise<void> {
    const { main, logger } = this.#setup;
    const { key, process } = host;
    const spec = this.#specOf(plugin, key);
    const own = plugin.contract === 'module' ? plugin : { user: null, environment: {} };
    try {
      await process.start({ spec, user: own.user, environment: own.environment, main });
      await host.open();
      this.#failures.delete(key);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      logger.error({ plugin: plugin.name, err: error instanceof HostStartError ? undefined : error }, reason);
      this.#failed(key);
      this.#hosts.delete(host);
      await this.#clear(process);
      for (const ref of this.#forgetAll(host)) this.#events.refused(ref, reason);
    }
  }

  #failed(key: string): void {
    const { count } = this.#failures.get(key) ?? { count: 0 };
    const pause = Math.min(HOST_RETRY_FIRST_MS * 2 ** Math.min(count, MOST_DOUBLINGS), HOST_RETRY_LONGEST_MS);
    this.#failures.set(key, { count: count + 1, notBefore: this.#setup.clock.monotonic() + pause });
  }

  #specOf(plugin: Plugin, key: string): HostSpec {
    const { node } = this.#setup;
    const base = { version: PROTOCOL_VERSION, key, node, workDir: this.#workDir } as const;
    if (plugin.contract !== 'module') return { ...base, module: null };
    const { name, file, runs, memory } = plugin;
    return { ...base, module: { plugin: name, file, runs, memory } };
  }

  /** Hosts that differ in nothing of this are the same. */
  #keyOf(plugin: Plugin): string {
    const { build, node } = this.#setup;
    const known = this.#keys.get(plugin);
    if (known !== undefined) return known;
    // How many there are is no property of each.
    const { processes: _, ...of } = plugin.contract === 'module' ? plugin : { processes: 1, programs: true };
    const text = JSON.stringify([build, PROTOCOL_VERSION, node, this.#workDir, of]);
    const key = createHash('sha256').update(text).digest('hex');
    this.#keys.set(plugin, key);
    return key;
  }

  readonly #keys = new WeakMap<Plugin, string>();

  kill(ref: TaskRef): void {
    this.#of(ref)?.send({ t: 'kill', id: ref.id, attempt: ref.attempt });
  }

  settle(ref: TaskRef): void {
    const key = attemptKey(ref);
    const host = this.#hostOf.get(key);
    if (host === undefined) return;
    host.send({ t: 'settle', id: ref.id, attempt: ref.attempt });
    host.attempts.delete(key);
    this.#hostOf.delete(key);
  }

  stored({ id, attempt }: TaskRef, stream: Stream, offset: number): void {
    this.#of({ id, attempt })?.send({ t: 'stored', id, attempt, stream, offset });
  }

  rewind(): void {
    this.#epoch += 1;
    for (const host of this.#hosts) host.send({ t: 'rewind', epoch: this.#epoch });
  }

  destroy(ref: TaskRef): void {
    const host = this.#of(ref);
    if (host === undefined) return;
    this.#setup.logger.warn({ task: ref.id }, 'the worker process does not end the task; it is ended itself');
    host.retired = true;
    void host.process.kill();
  }

  #of(ref: TaskRef): ManagedHost | undefined {
    return this.#hostOf.get(attemptKey(ref));
  }

  configured(plugins: readonly Plugin[]): void {
    const wanted = new Set(plugins.map((plugin) => this.#keyOf(plugin)));
    for (const host of this.#hosts) if (!wanted.has(host.key)) host.retire();
  }

  /** What it had is told only when nothing of it runs any more. */
  async #closed(host: ManagedHost): Promise<void> {
    if (!this.#hosts.delete(host)) return;
    const { logger } = this.#setup;
    const { process } = host;
    // One that had nothing left to do removes its directory, and may leave processes behind on purpose.
    if (existsSync(process.directory)) await this.#clear(process);
    const lost = this.#forgetAll(host);
    if (lost.length === 0) return;
    const reason = await host.lossReason();
    logger.error({ attempts: lost.length }, reason);
    for (const ref of lost) this.#events.gone(ref, reason);
  }

  #forgetAll(host: ManagedHost): TaskRef[] {
    const refs = [...host.attempts.values()];
    for (const ref of refs) this.#hostOf.delete(attemptKey(ref));
    host.attempts.clear();
    return refs;
  }

  close(): void {
    for (const start of this.#starts) start.cancel();
    for (const host of this.#hosts) {
      if (host.attempts.size === 0) host.retire();
      host.close();
    }
    this.#hosts.clear();
  }
}

/** Beyond this the pause is the longest anyway. */
const MOST_DOUBLINGS = 10;
