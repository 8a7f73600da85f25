import type { RelayStatus } from '@muster/fabric/relay';
import type { StartedProcess } from './started-process.js';
import { until } from './until.js';

/** Starts `muster ARGS`. */
export type Launch = (what: string, args: readonly string[], env: NodeJS.ProcessEnv) => StartedProcess;

export interface RelayPlace {
  readonly name: string;
  readonly upstream: string;
  readonly login: string;
  readonly token: string;
  /** On 127.0.0.1: TCP, WebSocket, status. */
  readonly ports: readonly [stomp: number, ws: number, status: number];
  /** For the socket that `muster relay status` looks for. */
  readonly runtimeDir: string;
  readonly flags: readonly string[];
}

/** `muster relay` as a process of its own, which can be killed, frozen, and started again on the same ports. */
export class RelayProcess {
  readonly port: number;
  readonly webSocketUrl: string;
  readonly #launch: Launch;
  readonly #place: RelayPlace;
  #process: StartedProcess;

  constructor(launch: Launch, place: RelayPlace) {
    this.#launch = launch;
    this.#place = place;
    this.port = place.ports[0];
    this.webSocketUrl = `ws://127.0.0.1:${place.ports[1]}`;
    this.#process = this.#started();
  }

  get process(): StartedProcess {
    return this.#process;
  }

  async status(): Promise<RelayStatus> {
    const answer = await fetch(`http://127.0.0.1:${this.#place.ports[2]}/status`);
    return (await answer.json()) as RelayStatus;
  }

  /** Resolves when its status is as wanted. */
  async reaches(what: string, wanted: (status: RelayStatus) => boolean): Promise<RelayStatus> {
    return until(`relay ${this.#place.name} ${what}; it logged ${this.#process.log.slice(-2000)}`, async () => {
      if (this.#process.exit !== null) throw new Error(`it exited: ${this.#process.log}`);
      const status = await this.status();
      return wanted(status) ? status : undefined;
    });
  }

  /** Takes clients. */
  async serving(): Promise<void> {
    await this.reaches('to serve', ({ upstream, listen }) => upstream.state === 'serving' && listen.length > 0);
  }

  async kill(): Promise<void> {
    await this.#process.kill('SIGKILL');
  }

  /** On the same ports, after it was killed. */
  async restart(): Promise<void> {
    this.#process = this.#started();
    await this.serving();
  }

  #started(): StartedProcess {
    const { name, upstream, login, token, ports, runtimeDir, flags } = this.#place;
    const [stomp, ws, status] = ports;
    return this.#launch(
      `relay ${name}`,
      [
        ...['relay', '--upstream', upstream, '--login', login, '--retry', '0.1s'],
        ...['--listen', `127.0.0.1:${stomp}`, '--listen', `ws://127.0.0.1:${ws}`, '--status', `127.0.0.1:${status}`],
        ...flags,
      ],
      { MUSTER_TOKEN: token, XDG_RUNTIME_DIR: runtimeDir },
    );
  }
}
