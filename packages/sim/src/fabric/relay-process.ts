import { type Relay, type RelayStatus, startRelay } from '@muster/fabric/relay';
import type { Random } from '../kernel/random.js';
import type { Host, Link } from '../kernel/tcp/host.js';
import type { Network } from '../kernel/tcp/network.js';
import { Process, type Timeline } from '../kernel/timeline.js';
import type { NodePlan, TreePlan } from './plan.js';
import { PASSCODE, type ProcessLog, ROOT_URL } from './root-process.js';

export type RelayStateName = RelayStatus['upstream']['state'];

export interface RelayWorld {
  readonly timeline: Timeline;
  readonly network: Network;
  readonly random: Random;
  readonly plan: TreePlan;
  readonly log: ProcessLog;
  /** It dials. */
  dialed(): void;
  entered(state: RelayStateName): void;
}

export function urlOf(name: string | null): string {
  return name === null ? ROOT_URL : `stomp://127.0.0.1:${62_000 + Number(/\d+$/.exec(name)?.[0])}`;
}

const ENTERED = /^relay: (.*)$/;

/** One life of a relay: the shipped one on the network of the simulation. */
export class RelayProcess {
  readonly process: Process;
  readonly host: Host;
  readonly #world: RelayWorld;
  readonly #relay: Relay;
  /** As it says itself. */
  state: RelayStateName = 'ping';
  stopping = false;

  constructor(world: RelayWorld, own: NodePlan, host: Host, link: Link) {
    this.#world = world;
    this.host = host;
    const { timeline, network, plan, log, random } = world;
    const process = new Process(own.name, timeline);
    this.process = process;
    host.process = process;
    const states = {
      ...log,
      info: (details: object, message: string) => this.#noted('info', details, message),
      warn: (details: object, message: string) => this.#noted('warn', details, message),
    };
    this.#relay = startRelay(
      {
        upstream: urlOf(own.parent),
        listen: [urlOf(own.name)],
        login: `${own.org}/${own.name}`,
        passcode: () => PASSCODE,
        retryMs: plan.retryMs,
        sendMs: plan.sendMs,
        heartBeatMs: plan.heartBeatMs,
        outboundBytes: plan.outletBytes,
      },
      {
        clock: process.clock,
        log: states as never,
        random: () => random.next(),
        defer: (work) => void timeline.after(0, process, work),
        transport: {
          connect: (url, options, handlers) => {
            world.dialed();
            return network.dial(host, process, link, url, options, handlers);
          },
          listen: async (url, _options, accept) => network.listen(host, process, url, accept),
        },
      },
    );
  }

  status(): RelayStatus {
    return this.#relay.status();
  }

  /** SIGTERM. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.#relay.stop();
  }

  kill(silent: boolean): void {
    this.process.die();
    this.host.process = null;
    this.#world.network.died(this.process, silent);
  }

  #noted(level: 'info' | 'warn', details: object, message: string): void {
    this.#world.log[level](details, message);
    const [, state] = ENTERED.exec(message) ?? [];
    if (state === undefined) return;
    this.state = state as RelayStateName;
    this.#world.entered(this.state);
  }
}
