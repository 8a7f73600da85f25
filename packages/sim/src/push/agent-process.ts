import {
  type AgentLog,
  type AgentSettings,
  bootDaemon,
  type ConfigurationAnswer,
  type Daemon,
  type Host,
  type NodeIdentity,
  parseAgentConfig,
} from '@muster/agent';
import { MusterError } from '@muster/agent/errors';
import { parseNodeConfiguration } from '@muster/wire';
import { brief } from '../kernel/brief.js';
import type { ParsedPair } from '../kernel/keys.js';
import type { Random } from '../kernel/random.js';
import { Process, type Timeline } from '../kernel/timeline.js';
import type { Trace } from '../kernel/trace.js';
import { Violation } from '../kernel/violation.js';
import type { Network } from '../kernel/zeromq/network.js';
import type { Path, ServerSide } from '../kernel/zeromq/sides.js';
import { simulatedSockets } from '../kernel/zeromq/sockets.js';
import type { MachineRoom } from './machine-room.js';
import { askConfiguration } from './node-request.js';
import type { ServerProcess } from './server-process.js';

export interface AgentWorld {
  readonly timeline: Timeline;
  readonly network: Network;
  readonly random: Random;
  readonly trace: Trace;
  readonly org: string;
  /** Where the server is found. */
  readonly host: string;
  readonly serverOf: (side: ServerSide) => ServerProcess | null;
  readonly report: (violation: Violation) => void;
}

/** One configuration of the node's owner for all. */
const CONFIG = parseAgentConfig({
  commands: { '/work (\\w+) (\\d+) (\\d+) (\\d+)/': ['work', '$1', '$2', '$3', '$4'] },
});
const REQUEST_MS = 5_000;

/** One life of an agent: the shipped daemon on a simulated machine. */
export class AgentProcess {
  readonly process: Process;
  readonly node: string;
  daemon: Daemon | null = null;
  /** Jobs whose command it began. */
  readonly began: string[] = [];
  readonly #world: AgentWorld;
  readonly #room: MachineRoom;
  readonly #path: Path;
  readonly #keys: ParsedPair;

  constructor(world: AgentWorld, room: MachineRoom, path: Path, keys: ParsedPair, skewMs: number) {
    this.#world = world;
    this.#room = room;
    this.#path = path;
    this.#keys = keys;
    this.node = room.node;
    this.process = new Process(room.node, world.timeline);
    this.process.skewMs = skewMs;
  }

  async start(): Promise<void> {
    const { host, org, random } = this.#world;
    const server = new URL(`http://${host}:8080`);
    const { node } = this;
    const settings: AgentSettings = {
      config: CONFIG,
      server,
      org,
      name: node,
      dataDir: '/data',
      keyFile: '/data/client.pem',
      fileDir: '/data/files',
      ca: null,
    };
    const identity: NodeIdentity = { server, org, name: node, ca: null, key: this.#keys.key };
    const around = { clock: this.process.clock, logger: this.#log(), random: () => random.next(), host: this.#host() };
    this.daemon = await bootDaemon(settings, identity, around);
  }

  /** SIGTERM. */
  async stop(): Promise<void> {
    await this.daemon?.stop();
    this.kill();
  }

  /** SIGKILL. */
  kill(): void {
    this.process.die();
    this.#world.network.agentDied(this.process);
    this.daemon = null;
  }

  #host(): Host {
    const { network } = this.#world;
    return {
      sockets: simulatedSockets(network, this.process, this.#path),
      processes: this.#room.processes,
      files: this.#files(),
      configuration: (_identity, asking) => this.#configuration(asking),
      file: () => {
        throw new Error('simulated jobs have no files');
      },
      taskSecrets: () => {
        throw new Error('no task of a simulation has secrets');
      },
      secrets: () => {
        throw new Error('simulated jobs have no secrets');
      },
      removeSecrets: async () => undefined,
      facts: () => ({ hostname: this.node }),
      sweepJobFiles: async () => undefined,
      ownFacts: async () => ({}),
    };
  }

  async #configuration({
    curvePublicKey,
    knownKey,
  }: {
    readonly curvePublicKey: string;
    readonly knownKey: string | null;
  }): Promise<ConfigurationAnswer> {
    const { host, network, org, serverOf } = this.#world;
    const { node } = this;
    const publicKey = this.#keys.publicKey;
    const request = { org, node, publicKey, curvePublicKey, knownKey, version: '3.0' };
    const to = { host, timeoutMs: REQUEST_MS };
    try {
      const json = await network.request(this.process, this.#path, to, (side) =>
        askConfiguration(serverOf(side), request),
      );
      return { configuration: parseNodeConfiguration(json), serverDate: null };
    } catch (error) {
      throw asAgentsSee(error);
    }
  }

  #files(): Host['files'] {
    const { files, diskMs } = this.#room;
    const later = (work: () => void): Promise<void> =>
      new Promise((resolve) => {
        const { timeline, random } = this.#world;
        timeline.after(random.between(0, diskMs), this.process, () => {
          work();
          // On disk, and not yet known to be.
          timeline.after(random.between(0, diskMs), this.process, resolve);
        });
      });
    return {
      read: async (path) => files.get(path) ?? null,
      write: (path, content) => later(() => files.set(path, content)),
      remove: (path) => later(() => files.delete(path)),
      overwriteLine: (path, line) => later(() => files.set(path, `${line}\n`)),
    };
  }

  #log(): AgentLog {
    const { trace, report } = this.#world;
    const write =
      (failing: boolean) =>
      (first: unknown, second?: unknown): void => {
        const details = typeof first === 'object' && first !== null ? first : {};
        const message = typeof first === 'string' ? first : String(second ?? '');
        trace.say(() => `${this.node}: ${message} ${brief(details)}`.trimEnd());
        if (failing) report(new Violation('logged', `${this.node}: ${message} ${brief(details)}`));
      };
    return { debug: write(false), info: write(false), warn: write(false), error: write(true) };
  }
}

/** What the server says no with is a refusal; everything else is the network's. */
function asAgentsSee(error: unknown): MusterError {
  const reason = error instanceof Error ? error.message : String(error);
  return error instanceof MusterError
    ? new MusterError('configuration_refused', { status: error.status, reason, code: error.code })
    : new MusterError('server_unreachable', { url: 'http://sim', reason });
}
