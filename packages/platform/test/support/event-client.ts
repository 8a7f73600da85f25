import type { ConnectOptions } from '@muster/fabric';
import {
  type Channel,
  connectChannel,
  encodeFrame,
  type Frame,
  FrameParser,
  frame,
  type Headers,
  header,
} from '@muster/fabric';

const LIMITS = { headBytes: 65_536, bodyBytes: 1 << 20, headers: 512, headerNameBytes: 256 };
const DESTINATION = ['destination', '/topic/events'] as const;

/** A STOMP client of a server under test: frames over a real socket, and nothing that hides them. */
export class EventClient {
  /** Everything that came and was not asked for otherwise. */
  readonly frames: Frame[] = [];
  readonly closed: Promise<void>;
  isClosed = false;
  readonly #end: () => void;
  #channel: Channel | null = null;
  #waiting: (() => void)[] = [];

  private constructor() {
    let end = (): void => undefined;
    this.closed = new Promise((resolve) => {
      end = resolve;
    });
    this.#end = end;
  }

  /** Connected, and nothing more. */
  static async open(url: string, options: ConnectOptions = {}): Promise<EventClient> {
    const client = new EventClient();
    const parser = new FrameParser(LIMITS, { frame: (raw) => void client.frames.push(raw.frame()) });
    client.#channel = await connectChannel(url, options, {
      data(bytes) {
        parser.push(bytes);
        client.#look();
      },
      drained: () => undefined,
      closed() {
        client.isClosed = true;
        client.#end();
        client.#look();
      },
    });
    return client;
  }

  /** Logged in; rejects with the text of the ERROR. */
  static async login(url: string, login: string, passcode: string, options: ConnectOptions = {}): Promise<EventClient> {
    const client = await EventClient.open(url, options);
    client.send('CONNECT', [
      ['accept-version', '1.2'],
      ['host', 'localhost'],
      ['login', login],
      ['passcode', passcode],
    ]);
    await client.take((one) => one.command === 'CONNECTED');
    return client;
  }

  send(command: string, headers: Headers = [], body = ''): void {
    this.#channel?.write(encodeFrame(frame(command, headers, Buffer.from(body))));
  }

  /** Sends it with a receipt; resolves with the RECEIPT. */
  ask(command: string, headers: Headers, body = ''): Promise<Frame> {
    const receipt = crypto.randomUUID();
    this.send(command, [...headers, ['receipt', receipt]], body);
    return this.take((one) => header(one, 'receipt-id') === receipt && one.command === 'RECEIPT');
  }

  /** Resolves when the subscription is there. */
  async subscribe(selector = '', more: Headers = []): Promise<void> {
    const chosen: Headers = selector === '' ? [] : [['selector', selector]];
    await this.ask('SUBSCRIBE', [DESTINATION, ['id', crypto.randomUUID()], ...chosen, ...more]);
  }

  /** Resolves with the RECEIPT: the event is stored. */
  publish(type: string, attributes: Headers = [], body = ''): Promise<Frame> {
    return this.ask('SEND', [DESTINATION, ['type', type], ...attributes], body);
  }

  /** The next event. */
  event(): Promise<Frame> {
    return this.take((one) => one.command === 'MESSAGE' && header(one, 'destination') === DESTINATION[1]);
  }

  /** Types of the next events. */
  async types(count: number): Promise<(string | undefined)[]> {
    const types: (string | undefined)[] = [];
    while (types.length < count) types.push(header(await this.event(), 'type'));
    return types;
  }

  /** The `message` of the ERROR with which the connection ends. */
  async error(): Promise<string> {
    const found = await this.take((one) => one.command === 'ERROR', true);
    await this.closed;
    return header(found, 'message') ?? '';
  }

  /** The first such frame, now or later. Rejects when an ERROR comes instead, or the end. */
  async take(wanted: (one: Frame) => boolean, alsoError = false): Promise<Frame> {
    for (;;) {
      const found = this.frames.findIndex(wanted);
      if (found >= 0) return this.frames.splice(found, 1)[0] as Frame;
      const error = this.frames.find(({ command }) => command === 'ERROR');
      if (error !== undefined && !alsoError) throw new Error(header(error, 'message'));
      if (this.isClosed) throw new Error('the connection is over');
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  close(): Promise<void> {
    this.#channel?.destroy();
    return this.closed;
  }

  #look(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const look of waiting) look();
  }
}
