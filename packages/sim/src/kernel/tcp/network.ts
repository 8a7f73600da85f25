import { MusterError } from '@muster/base';
import type { Accept, Channel, ChannelHandlers, ConnectOptions, Listener } from '@muster/fabric';
import type { Process } from '../timeline.js';
import { End, type Wires } from './end.js';
import type { Host, Link, NetworkOptions } from './host.js';

interface Bound {
  readonly host: Host;
  readonly process: Process;
  readonly accept: Accept;
}

const CONNECT_MS = 10_000;

/** TCP as programs see it: ordered bytes in pieces of any size, that are late, stop, or end at any moment. */
export class Network {
  readonly options: NetworkOptions;
  /** Every end of a connection that is not over. */
  readonly ends = new Set<End>();
  readonly #bound = new Map<string, Bound>();
  readonly #wires: Wires;
  #made = 0;

  constructor(options: NetworkOptions) {
    this.options = options;
    this.#wires = {
      options,
      latency: (link) => this.latency(link),
      over: (end) => void this.ends.delete(end),
    };
  }

  /** Whether anybody takes connections there. */
  listens(url: string): boolean {
    return this.#bound.has(url);
  }

  listen(host: Host, process: Process, url: string, accept: Accept): Listener {
    if (this.#bound.has(url)) throw new MusterError('address_in_use', { address: url, reason: 'somebody listens' });
    const bound: Bound = { host, process, accept };
    this.#bound.set(url, bound);
    return {
      url,
      close: async () => {
        if (this.#bound.get(url) === bound) this.#bound.delete(url);
      },
    };
  }

  /** Rejects when nobody is there, or nothing comes back in time. */
  dial(
    host: Host,
    process: Process,
    link: Link,
    url: string,
    { timeoutMs = CONNECT_MS, signal }: ConnectOptions,
    handlers: ChannelHandlers,
  ): Promise<Channel> {
    const { timeline } = this.options;
    return new Promise((resolve, reject) => {
      let open = true;
      const fail = (reason: string): void => {
        open = false;
        reject(new MusterError('fabric_unreachable', { url, reason }));
      };
      signal?.addEventListener('abort', () => fail('given up'), { once: true });
      const limit = timeline.after(timeoutMs, process, () => open && fail('no answer in time'));
      const answer = (work: () => void): void => {
        if (link.cut) return;
        timeline.after(this.latency(link), process, () => {
          limit.cancelled = true;
          if (open) work();
        });
      };
      if (link.cut) return;
      timeline.after(this.latency(link), null, () => {
        if (!process.alive) return;
        const bound = this.#bound.get(url);
        if (bound === undefined || !bound.process.alive) return answer(() => fail('connection refused'));
        // Its system answers, whatever the process does.
        const [near, far] = this.#pair(host, process, bound, link);
        timeline.after(0, bound.process, () => far.accepted(bound.accept, this.#bound.get(url) === bound));
        answer(() => {
          near.attach(handlers);
          open = false;
          resolve(near);
        });
        timeline.after(timeoutMs, process, () => near.abandon());
      });
    });
  }

  /** A process is gone. `silent`: with its whole machine, so that nobody is told. */
  died(process: Process, silent: boolean): void {
    for (const [url, bound] of this.#bound) if (bound.process === process) this.#bound.delete(url);
    for (const end of [...this.ends]) if (end.process === process) end.died(silent);
  }

  cut(link: Link): void {
    link.cut = true;
  }

  heal(link: Link): void {
    link.cut = false;
    for (const end of [...this.ends]) if (end.link === link) end.healed();
  }

  /** Something on the way ends a connection: both sides are told. */
  drop(end: End): void {
    end.reset();
    end.peer.reset();
  }

  latency(link: Link): number {
    return this.options.random.between(link.latencyMs[0], link.latencyMs[1]) + link.delayMs;
  }

  #pair(host: Host, process: Process, bound: Bound, link: Link): [End, End] {
    this.#made += 1;
    const near = new End(this.#wires, host, process, link, `${bound.host.name}:${this.#made}`);
    const far = new End(this.#wires, bound.host, bound.process, link, `${host.name}:${this.#made}`);
    near.peer = far;
    far.peer = near;
    this.ends.add(near);
    this.ends.add(far);
    return [near, far];
  }
}
