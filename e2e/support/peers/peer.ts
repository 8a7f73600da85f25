import type { StartedProcess } from '../started-process.js';
import { until } from '../until.js';

/** What a client of somebody else's making is told to do. */
export type Order =
  | {
      readonly order: 'connect';
      readonly port: number;
      readonly login: string;
      readonly passcode: string;
      /** Offered both ways, as far as the library can. */
      readonly heartBeatMs: number;
    }
  | { readonly order: 'subscribe'; readonly id: string; readonly ack: string; readonly headers: Pairs }
  | { readonly order: 'send'; readonly headers: Pairs; readonly body: string }
  | { readonly order: 'ack' | 'nack'; readonly message: Record<string, string> }
  | { readonly order: 'begin' | 'commit' | 'abort'; readonly transaction: string }
  | { readonly order: 'disconnect' };

export type Pairs = readonly (readonly [name: string, value: string])[];

/** What it tells of; a lost connection is made again by the library, with the subscriptions. */
export type Happening =
  | { readonly event: 'connected'; readonly headers: Record<string, string> }
  | { readonly event: 'error'; readonly headers: Record<string, string> }
  | { readonly event: 'message'; readonly headers: Record<string, string>; readonly body: string }
  | { readonly event: 'receipt'; readonly id: string }
  | { readonly event: 'disconnected' }
  /** A heart-beat of the server. */
  | { readonly event: 'beat' }
  /** Nothing was heard of the server for too long. */
  | { readonly event: 'silent' };

/** A STOMP client that was written by others, for whom nothing is made easier. */
export interface Peer {
  readonly happenings: readonly Happening[];
  obey(order: Order): void;
  stop(): Promise<void>;
}

type Of<Name extends Happening['event']> = Extract<Happening, { readonly event: Name }>;

/** The first so many of that kind. */
export function heard<Name extends Happening['event']>(peer: Peer, event: Name, count = 1): Promise<Of<Name>[]> {
  return until(`${count} times ${event}; so far ${JSON.stringify(peer.happenings)}`, () => {
    const found = peer.happenings.filter((each): each is Of<Name> => each.event === event);
    return found.length >= count ? found.slice(0, count) : undefined;
  });
}

/** Resolves when it was told that this was done, for the so-manieth time. */
export function confirmed(peer: Peer, receipt: string, times = 1): Promise<unknown> {
  return until(`receipt ${receipt}; so far ${JSON.stringify(peer.happenings)}`, () => {
    return peer.happenings.filter((each) => each.event === 'receipt' && each.id === receipt).length >= times;
  });
}

/** Talks by lines of JSON with a program in another language. */
export class ProcessPeer implements Peer {
  readonly #process: StartedProcess;

  constructor(process: StartedProcess) {
    this.#process = process;
  }

  get happenings(): readonly Happening[] {
    const { stdout, stderr, exit } = this.#process;
    if (exit !== null && exit.code !== 0) throw new Error(`it exited with ${exit.code}: ${stderr}`);
    const lines = stdout.slice(0, stdout.lastIndexOf('\n') + 1).split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Happening);
  }

  obey(order: Order): void {
    this.#process.write(`${JSON.stringify(order)}\n`);
  }

  async stop(): Promise<void> {
    await this.#process.kill('SIGKILL');
  }
}
