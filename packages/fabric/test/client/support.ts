import { ManualClock } from '@muster/base';
import {
  type Channel,
  encodeFrame,
  type Frame,
  FrameParser,
  frame,
  type Headers,
  header,
  type Listener,
  listenForChannels,
} from '@muster/fabric';
import { type Client, type ClientOptions, type ClientStatus, connect } from '@muster/fabric/client';

const LIMITS = { headBytes: 1 << 20, bodyBytes: 1 << 20, headers: 200, headerNameBytes: 256 };

/** One connection of a client, as the server sees it. */
export class Peer {
  readonly frames: Frame[] = [];
  readonly channel: Channel;
  heartBeats = 0;
  open = true;

  constructor(channel: Channel) {
    this.channel = channel;
  }

  send(command: string, headers: Headers = [], body = ''): void {
    this.channel.write(encodeFrame(frame(command, headers, Buffer.from(body))));
  }

  /** A MESSAGE for one of its subscriptions. */
  event(subscription: string, position: number, headers: Headers = [['type', 'a']], body = ''): void {
    const own: Headers = [
      ['subscription', subscription],
      ['destination', '/topic/events'],
      ['message-id', String(position)],
      ['org', 'acme'],
      ['source', 'acme/ada'],
      ['time', '2026-11-20T12:00:00.000Z'],
    ];
    this.send('MESSAGE', [...own, ...headers], body);
  }

  of(command: string): readonly Frame[] {
    return this.frames.filter((each) => each.command === command);
  }

  /** That header of each frame of a command. */
  values(command: string, name: string): (string | undefined)[] {
    return this.of(command).map((each) => header(each, name));
  }
}

/** The other side of a client, over real sockets; does as it is told, and by itself only what `habits` say. */
export class FakeServer {
  readonly peers: Peer[] = [];
  readonly habits = {
    /** Answers CONNECT. */
    welcomes: true,
    heartBeat: '0,0',
    /** Answers frames that ask for a receipt. */
    receipts: true,
    /** Sends every SEND to everybody who subscribed, as the root does. */
    echoes: false,
  };
  /** Instead of the usual answer, if it says so. */
  answer: (peer: Peer, frame: Frame) => boolean = () => false;
  #listener: Listener | null = null;
  #url: string;
  #position = 0;

  constructor(url = 'stomp://127.0.0.1:0') {
    this.#url = url;
  }

  get url(): string {
    return this.#url;
  }

  /** The newest connection. */
  get peer(): Peer {
    const peer = this.peers.at(-1);
    if (peer === undefined) throw new Error('nobody is connected');
    return peer;
  }

  async listen(): Promise<this> {
    this.#listener = await listenForChannels(this.#url, {}, (channel) => {
      const peer = new Peer(channel);
      this.peers.push(peer);
      const parser = new FrameParser(LIMITS, {
        frame: (raw) => this.#frame(peer, raw.frame()),
        heartBeat: () => void peer.heartBeats++,
      });
      return {
        data: (bytes) => parser.push(bytes),
        drained: () => {},
        closed: () => {
          peer.open = false;
        },
      };
    });
    this.#url = this.#listener.url;
    return this;
  }

  /** As if its process were killed; `listen` brings it back. */
  async die(): Promise<void> {
    await this.#listener?.close();
    for (const { channel } of this.peers) channel.destroy();
  }

  /** The newest connection's frames of a command, once there are so many. */
  async got(command: string, count: number): Promise<readonly Frame[]> {
    await until(() => this.peer.of(command).length >= count);
    return this.peer.of(command);
  }

  #frame(peer: Peer, got: Frame): void {
    peer.frames.push(got);
    if (!this.answer(peer, got)) this.#usual(peer, got);
  }

  #usual(peer: Peer, got: Frame): void {
    const { welcomes, heartBeat, receipts, echoes } = this.habits;
    if (got.command === 'CONNECT' && welcomes) {
      peer.send('CONNECTED', [
        ['version', '1.2'],
        ['heart-beat', heartBeat],
      ]);
    }
    if (got.command === 'SEND' && echoes) this.#echo(got);
    const receipt = header(got, 'receipt');
    if (receipt !== undefined && receipts) peer.send('RECEIPT', [['receipt-id', receipt]]);
    if (got.command === 'DISCONNECT') peer.channel.end();
  }

  #echo(got: Frame): void {
    this.#position += 1;
    const attributes = got.headers.filter(([name]) => !['destination', 'receipt', 'content-length'].includes(name));
    for (const peer of this.peers) {
      if (!peer.open) continue;
      const gone = new Set(peer.values('UNSUBSCRIBE', 'id'));
      for (const subscribe of peer.of('SUBSCRIBE')) {
        const id = header(subscribe, 'id') ?? '';
        // As much of selectors as these tests need.
        const selector = header(subscribe, 'selector') ?? `'${header(got, 'type')}'`;
        if (gone.has(id) || !selector.includes(`'${header(got, 'type')}'`)) continue;
        peer.event(id, this.#position, attributes, Buffer.from(got.body).toString());
      }
    }
  }
}

/** Lets sockets and promises go on until that holds. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate);
}

/** A server, and clients on a clock that stands still. */
export class World {
  readonly clock = new ManualClock();
  readonly server = new FakeServer();
  readonly told: ClientStatus[] = [];
  /** Each begins with the drawing of a random number. */
  pauses = 0;
  #clients: Client[] = [];

  static async start(): Promise<World> {
    const world = new World();
    await world.server.listen();
    return world;
  }

  connect(options: Partial<ClientOptions> = {}): Client {
    const client = connect({
      url: this.server.url,
      login: 'acme/ada',
      passcode: 'secret',
      clock: this.clock,
      random: () => {
        this.pauses += 1;
        return 0.5;
      },
      heartBeatMs: 0,
      onStatus: (status) => this.told.push(status),
      ...options,
    });
    this.#clients.push(client);
    return client;
  }

  async connected(options: Partial<ClientOptions> = {}): Promise<Client> {
    const client = this.connect(options);
    await client.ready();
    return client;
  }

  get states(): string[] {
    return this.told.map(({ state }) => state);
  }

  /** Until clients have told that as often. */
  whenTold(state: ClientStatus['state'], times = 1): Promise<void> {
    return until(() => this.states.filter((each) => each === state).length >= times);
  }

  /** Until clients have begun as many pauses between attempts. */
  whenPaused(times: number): Promise<void> {
    return until(() => this.pauses >= times);
  }

  /** Loses the newest connection and finds it again. */
  async reconnect(): Promise<void> {
    const { length } = this.server.peers;
    this.server.peer.channel.destroy();
    await this.whenTold('lost', length);
    this.clock.advance(5000);
    await this.whenTold('connected', length + 1);
  }

  async end(): Promise<void> {
    await this.server.die();
    await Promise.all(this.#clients.map((client) => client.close()));
  }
}

/** So many of what an iterator gives next. */
export async function take<T>(from: AsyncIterator<T>, count: number): Promise<T[]> {
  const got: T[] = [];
  while (got.length < count) {
    const next = await from.next();
    if (next.done === true) break;
    got.push(next.value);
  }
  return got;
}
