import type { KeyObject } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type AgentLog, bootDaemon, type Daemon, durableFiles, type Host } from '@muster/agent/elsewhere';
import type { Clock, Timer } from '@muster/base';
import type { LocalPeers, SshNode, SshStanding, SshTestStep } from '@muster/nodes';
import {
  letsIn,
  type Slots,
  type SshConnections,
  type SshHost,
  SshLink,
  type SshSecret,
  SshTrouble,
  type SshTroubleKind,
  shownKey,
  sshAnswers,
} from '@muster/platform/ssh';
import type { LayerLog } from '@muster/platform/upkeep';
import type { NodeConfiguration } from '@muster/wire';
import { exec } from './exec.js';
import { SSH_NODE_LIMITS } from './limits.js';
import { type Effect, type Event, initialMachine, type Machine, type Rules, step, type Trouble } from './machine.js';
import { noDirectory, SshProcesses } from './processes.js';
import { type Look, lookLine, lookOf } from './scripts.js';
import { settingsOf } from './settings.js';
import { Wire } from './wire.js';

export interface Hosting {
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: LayerLog;
  readonly peers: LocalPeers;
  readonly connections: SshConnections;
  /** Of looks at the same time. */
  readonly looks: Slots;
  /** Of those that log in. */
  readonly logins: Slots;
  readonly rules: Rules;
  /** Of all these nodes; nobody else has it. */
  readonly key: () => Promise<KeyObject>;
  readonly secret: (node: SshNode) => Promise<SshSecret>;
  readonly configure: (node: SshNode, asking: Asking) => NodeConfiguration;
  /** It is down, whatever was heard of it a moment ago. */
  readonly down: (node: SshNode) => void;
  /** Where each has a directory by its id. */
  readonly dir: string;
}

export interface Asking {
  readonly key: KeyObject;
  readonly curvePublicKey: string;
  readonly knownKey: string | null;
}

/**
 * One node without an agent: the agent itself, with its machine, its slot for a command and its memory of crashes, runs in the server, and
 * what it starts runs on the host.
 */
export class HostedNode {
  readonly #hosting: Hosting;
  readonly #wire: Wire;
  readonly #processes: SshProcesses;
  readonly link: SshLink;
  #node: SshNode;
  #machine: Machine;
  #daemon: Promise<Daemon> | null = null;
  #timer: Timer | null = null;
  #stopped = false;
  #denied = 0;
  #waiting: (() => void)[] = [];

  constructor(node: SshNode, hosting: Hosting) {
    const { clock, peers } = hosting;
    this.#node = node;
    this.#hosting = hosting;
    this.#machine = initialMachine(clock.now());
    this.#wire = new Wire(peers);
    const { connections, secret } = hosting;
    const { connectMs, keepaliveMs, idleMs } = SSH_NODE_LIMITS;
    this.link = new SshLink(
      () => this.#host(),
      () => secret(this.#node),
      { clock, connectMs, keepaliveMs, idleMs, admit: (link) => connections.admit(link) },
    );
    this.#processes = new SshProcesses({
      link: this.link,
      refusal: (dir) => this.#refusal(dir),
      failed: (trouble) => this.#failed(troubleOf(trouble)),
      reached: () => this.#reached(),
      stopped: () => this.#stopped && this.#daemon === null,
      graceMs: () => (this.#node.policy.grace ?? DEFAULT_GRACE_S) * 1000,
      denied: (count) => {
        this.#denied = count;
      },
    });
  }

  get node(): SshNode {
    return this.#node;
  }

  /** The first look, within this time. */
  start(withinMs: number): void {
    this.#wait(withinMs * this.#hosting.random());
  }

  /** Where its host is, and who logs in, is as it was. */
  async change(node: SshNode): Promise<void> {
    const login = loginDiffers(this.#node, node);
    this.#node = node;
    this.link.rest();
    this.#apply({ type: 'changed', at: this.#hosting.clock.now(), login });
    if (this.#daemon !== null) (await this.#daemon).reload(settingsOf(node, this.#dir));
  }

  /** Ends what runs, as far as the host is reached. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    if (this.#daemon !== null) await (await this.#daemon).stop();
    this.#daemon = null;
    this.#wire.cut();
    for (const go of this.#waiting.splice(0)) go();
    this.link.close();
  }

  /** It is deleted: with what was kept of it. */
  async remove(): Promise<void> {
    await this.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }

  standing(): SshStanding {
    const { reach } = this.#machine;
    const { kind, since } = reach;
    const trouble = reach.kind === 'unreachable' ? reach.trouble : this.#deniedText();
    return { state: kind, since, trouble, connected: this.link.connected };
  }

  async test(): Promise<readonly SshTestStep[]> {
    const steps: SshTestStep[] = [];
    const tried = async (name: SshTestStep['name'], work: () => Promise<string>): Promise<boolean> => {
      try {
        steps.push({ name, ok: true, text: await work() });
        return true;
      } catch (error) {
        steps.push({ name, ok: false, text: errorOf(error).message });
        return false;
      }
    };
    const { clock } = this.#hosting;
    const host = this.#host();
    let refused: Error | null = null;
    const passed =
      (await tried('answers', async () => {
        await this.#answers();
        return `something that speaks ssh answers at ${host.host}, port ${host.port}`;
      })) &&
      (await tried('host key', async () => {
        if (host.hostKey === null) throw await this.#unpinned();
        // A host has keys of several kinds: whether it shows this one is seen when somebody logs in.
        refused = await this.#login().then(() => null, errorOf);
        if (refused instanceof SshTrouble && refused.kind === 'HOST_KEY_CHANGED') throw refused;
        const pinned = refused === null ? 'the host shows the one that is pinned' : 'one is pinned';
        return `${pinned}: ${host.hostKey}`;
      })) &&
      (await tried('login', async () => {
        if (refused !== null) throw refused;
        return `it lets ${host.user} in`;
      })) &&
      (await tried('shell', async () => {
        const { system } = await this.#lookAround();
        return `commands can be run and ended there${system === '' ? '' : ` (${system})`}`;
      }));
    if (!passed) this.link.rest();
    // What runs there goes on over the connection that it has. A look that logs in meanwhile has none yet, and is refused as this was.
    if (!passed && this.#machine.reach.kind === 'reached' && this.link.connected) return steps;
    this.#apply({ type: 'tried', at: clock.now(), trouble: passed ? null : (steps.at(-1)?.text ?? '') });
    return steps;
  }

  /** Anew: a connection that is open was let in with what the secret was then. @throws SshTrouble */
  async #login(): Promise<void> {
    const { clock, secret } = this.#hosting;
    await letsIn(this.#host(), await secret(this.#node), clock, SSH_NODE_LIMITS.connectMs);
  }

  get #dir(): string {
    return join(this.#hosting.dir, this.#node.id);
  }

  #host(): SshHost {
    const { name, host, port, user, hostKey } = this.#node;
    const repin = `tell the server the new one (muster ssh-node set ${name} --host-key SHA256:…)`;
    return { what: `node ${name}`, host, port, user, hostKey, repin };
  }

  #apply(event: Event): void {
    if (this.#stopped) return;
    const { machine, effects } = step(this.#machine, event, this.#hosting.rules);
    const before = this.#machine.reach;
    this.#machine = machine;
    this.#tell(before.kind);
    for (const effect of effects) this.#do(effect);
  }

  #tell(before: Machine['reach']['kind']): void {
    const { reach } = this.#machine;
    if (reach.kind === before) return;
    const { logger } = this.#hosting;
    const { name, org } = this.#node;
    if (reach.kind === 'reached') logger.info({ node: name, org: org.name }, 'a node without an agent is reached');
    if (reach.kind === 'unreachable')
      logger.warn({ node: name, org: org.name, trouble: reach.trouble }, 'a node without an agent is not reached');
  }

  #do(effect: Effect): void {
    switch (effect.type) {
      case 'look':
        void this.#look(effect.whole);
        return;
      case 'wait':
        // Not all at the same moment.
        return this.#wait(effect.ms * (0.75 + this.#hosting.random() / 2));
      case 'open':
        for (const go of this.#waiting.splice(0)) go();
        void this.#begin();
        return;
      case 'close':
        return this.#wire.cut();
      case 'down':
        return this.#hosting.down(this.#node);
    }
  }

  #wait(ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#hosting.clock.after(ms, () => this.#apply({ type: 'due' }));
  }

  #failed(trouble: Trouble): void {
    this.#apply({ type: 'failed', at: this.#hosting.clock.now(), trouble });
  }

  async #look(whole: boolean): Promise<void> {
    const { clock } = this.#hosting;
    const trouble = await this.#reach(whole).then(() => null, troubleOf);
    this.#apply({ type: 'looked', at: clock.now(), trouble });
  }

  /** @throws SshTrouble */
  async #reach(whole: boolean): Promise<void> {
    const { looks, logins } = this.#hosting;
    // An open connection asks by itself whether the host is there.
    const stands = this.link.connected;
    if (!stands) await this.#inTurn(looks, () => this.#answers());
    if (this.#stopped || (stands && !whole)) return;
    if (this.#node.hostKey === null) throw await this.#unpinned();
    await this.#inTurn(logins, () => (whole ? this.#lookAround() : this.#login()));
  }

  async #inTurn(slots: Slots, work: () => Promise<unknown>): Promise<void> {
    await slots.take();
    try {
      if (!this.#stopped) await work();
    } finally {
      slots.give();
    }
  }

  /** Hosts that do not answer would keep those waiting that are to be logged in to. @throws SshTrouble */
  #answers(): Promise<void> {
    return sshAnswers(this.#host(), this.#hosting.clock, SSH_NODE_LIMITS.connectMs);
  }

  /** No key is trusted for having been seen. */
  async #unpinned(): Promise<SshTrouble> {
    const host = this.#host();
    const shown = await shownKey(host, this.#hosting.clock, SSH_NODE_LIMITS.connectMs);
    return new SshTrouble(
      'HOST_KEY_CHANGED',
      `no host key is pinned for ${host.what}; its host shows SHA256:${shown}. Compare that with ` +
        '`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the host, and if it is the same: ' +
        `muster ssh-node set ${this.#node.name} --host-key SHA256:${shown}`,
    );
  }

  /** @throws SshTrouble */
  async #lookAround(dir?: string): Promise<Look> {
    const { what } = this.#host();
    const { stdout, stderr } = await exec(this.link, lookLine(dir), this.#hosting.clock);
    const look = lookOf(stdout);
    if (look === null) {
      const said = `${stdout}${stderr}`.trim().slice(0, 300);
      throw new SshTrouble('CONNECTION_FAILURE', `${what} has no POSIX shell to run commands; it said: ${said}`);
    }
    if (!look.groups) {
      const text = `${what} cannot give commands a process group of their own, so nobody could end them: install setsid there`;
      throw new SshTrouble('CONNECTION_FAILURE', text);
    }
    return look;
  }

  async #refusal(dir: string | undefined): Promise<string | null> {
    try {
      const { directory } = await this.#lookAround(dir);
      return dir === undefined || directory === true ? null : noDirectory(dir);
    } catch (error) {
      const trouble = troubleOf(error);
      this.#failed(trouble);
      return trouble.text;
    }
  }

  /** Resolves when the host is reached next, or after a while, whichever is first: what waits asks again either way. */
  #reached(): Promise<void> {
    const { clock, rules } = this.#hosting;
    if (this.#machine.reach.kind === 'reached')
      return new Promise((resolve) => clock.after(rules.retryFirstMs, resolve));
    return new Promise((resolve) => {
      const timer = clock.after(rules.retryLongestMs, resolve);
      this.#waiting.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  async #begin(): Promise<void> {
    this.#wire.open();
    this.#daemon ??= this.#boot();
    try {
      await this.#daemon;
    } catch (error) {
      this.#daemon = null;
      this.#failed({ text: `the server cannot host it: ${errorOf(error).message}`, refused: false });
    }
  }

  async #boot(): Promise<Daemon> {
    const { clock, logger, random, key } = this.#hosting;
    const { name, org } = this.#node;
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    const settings = settingsOf(this.#node, this.#dir);
    const identity = { server: settings.server, org: org.name, name, ca: null, key: await key() };
    return bootDaemon(settings, identity, { clock, random, logger: quiet(logger, name), host: this.#agentHost() });
  }

  #agentHost(): Host {
    const without = async (): Promise<never> => {
      throw new Error(NO_AGENT);
    };
    return {
      sockets: this.#wire.sockets,
      processes: this.#processes,
      files: durableFiles,
      configuration: async ({ key }, { curvePublicKey, knownKey }) => {
        const configuration = this.#hosting.configure(this.#node, { key, curvePublicKey, knownKey });
        return { configuration, serverDate: null };
      },
      file: () => {
        throw new Error(NO_AGENT);
      },
      secrets: without,
      taskSecrets: without,
      removeSecrets: async () => undefined,
      facts: () => ({}),
      ownFacts: async () => ({}),
      sweepJobFiles: async () => undefined,
    };
  }

  #deniedText(): string | null {
    if (this.#denied === 0) return null;
    const { user } = this.#node;
    return `${this.#denied} processes of a command that is to end may not be signalled by ${user}; they are waited for`;
  }
}

/** Another key of the host, or other secrets. */
export function loginDiffers(one: SshNode, other: SshNode): boolean {
  const { hostKey, keySecret, passwordSecret } = other;
  return one.hostKey !== hostKey || one.keySecret !== keySecret || one.passwordSecret !== passwordSecret;
}

function troubleOf(error: unknown): Trouble {
  return { text: errorOf(error).message, refused: error instanceof SshTrouble && REFUSALS.has(error.kind) };
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** What a host says that answers: to ask again soon would tell nothing else. */
const REFUSALS: ReadonlySet<SshTroubleKind> = new Set(['AUTHENTICATION_FAILED', 'HOST_KEY_CHANGED']);
const DEFAULT_GRACE_S = 5;
const NO_AGENT = 'this node has no agent';

/** What an agent tells its owner is of little use in the log of a server that hosts a thousand: only its errors are. */
function quiet(logger: LayerLog, node: string): AgentLog {
  const telling =
    (level: 'debug' | 'error') =>
    (first: unknown, text?: unknown): void => {
      if (typeof first === 'string') logger[level]({ node }, first);
      else logger[level]({ ...Object(first), node }, String(text ?? ''));
    };
  return { debug: telling('debug'), info: telling('debug'), warn: telling('debug'), error: telling('error') };
}
