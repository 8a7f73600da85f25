import { connect, type Socket } from 'node:net';
import { encodeFrame, type Frame, FrameParser, frame, type Headers, header, type StompVersion } from '@muster/fabric';

const LIMITS = { headBytes: 65_536, bodyBytes: 1 << 20, headers: 512, headerNameBytes: 256 };

export interface ConnectOptions {
  readonly passcode?: string;
  readonly version?: StompVersion;
  readonly headers?: Headers;
}

/** A socket that speaks STOMP only as far as a test makes it. */
export class RawClient {
  readonly socket: Socket;
  /** Everything that came. */
  readonly frames: Frame[] = [];
  /** As it came. */
  text = '';
  beats = 0;
  closed = false;
  version: StompVersion = '1.2';
  readonly #parser: FrameParser;
  #watching: (() => void)[] = [];
  #receipts = 0;

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#parser = new FrameParser(LIMITS, {
      frame: (raw) => {
        this.frames.push(raw.frame());
      },
      heartBeat: () => {
        this.beats += 1;
      },
    });
    this.socket.on('data', (bytes) => {
      this.text += bytes.toString('latin1');
      this.#parser.push(bytes);
      this.#look();
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.closed = true;
      this.#look();
    });
  }

  /** Logs in. */
  async connect(login = 'default/client', options: ConnectOptions = {}): Promise<Frame> {
    const { passcode = 'secret', version = '1.2', headers = [] } = options;
    this.version = version;
    this.send('CONNECT', [
      ['accept-version', version],
      ['host', 'localhost'],
      ['login', login],
      ['passcode', passcode],
      ...headers,
    ]);
    const answer = await this.next();
    if (answer.command !== 'CONNECTED') throw new Error(`not connected: ${told(answer)}`);
    this.#parser.version = version;
    return answer;
  }

  write(text: string): void {
    this.socket.write(Buffer.from(text, 'latin1'));
  }

  send(command: string, headers: Headers = [], body: string | Uint8Array = ''): void {
    this.socket.write(encodeFrame(frame(command, headers, Buffer.from(body)), this.version));
  }

  publish(type: string, attributes: Headers = [], body: string | Uint8Array = ''): void {
    this.send('SEND', [['destination', '/topic/events'], ['type', type], ...attributes], body);
  }

  /** Resolves when the subscription is there. */
  async subscribe(id: string, selector = '', more: Headers = []): Promise<void> {
    const headers: Headers = [['id', id], ['destination', '/topic/events'], ...more];
    await this.ask('SUBSCRIBE', selector === '' ? headers : [...headers, ['selector', selector]]);
  }

  /** Sends it and waits for its RECEIPT, which is taken away. */
  async ask(command: string, headers: Headers, body: string | Uint8Array = ''): Promise<Frame> {
    this.#receipts += 1;
    const receipt = `r-${this.#receipts}`;
    this.send(command, [...headers, ['receipt', receipt]], body);
    const isAnswer = (each: Frame) =>
      each.command === 'ERROR' || (each.command === 'RECEIPT' && header(each, 'receipt-id') === receipt);
    await this.until(() => this.frames.some(isAnswer));
    const [answer] = this.frames.splice(this.frames.findIndex(isAnswer), 1);
    if (answer?.command !== 'RECEIPT') throw new Error(`no receipt: ${told(answer)}`);
    return answer;
  }

  /** Everything sent before was dealt with by the root, and everything it sent before has come. */
  async barrier(): Promise<void> {
    await this.ask('BEGIN', [['transaction', `barrier-${this.#receipts}`]]);
    await this.ask('ABORT', [['transaction', `barrier-${this.#receipts - 1}`]]);
  }

  /** Takes the next frame away. */
  async next(): Promise<Frame> {
    await this.until(() => this.frames.length > 0);
    const frame = this.frames.shift();
    if (frame === undefined) throw new Error('the connection is closed');
    return frame;
  }

  /** Takes so many MESSAGEs away. */
  async messages(count: number): Promise<readonly Frame[]> {
    const all = () => this.frames.filter(({ command }) => command === 'MESSAGE');
    await this.until(() => all().length >= count);
    const taken = all().slice(0, count);
    for (const each of taken) this.frames.splice(this.frames.indexOf(each), 1);
    return taken;
  }

  /** The ERROR that ends the connection. */
  async error(): Promise<Frame> {
    await this.end();
    const last = this.frames.at(-1);
    if (last?.command !== 'ERROR') throw new Error(`no ERROR at the end, but ${told(last)}`);
    return last;
  }

  /** Until the connection is over. */
  async end(): Promise<void> {
    while (!this.closed) await this.#something();
  }

  /** @throws when the connection ends before. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.closed) throw new Error(`closed; last came ${told(this.frames.at(-1))}`);
      await this.#something();
    }
  }

  #something(): Promise<void> {
    return new Promise((resolve) => this.#watching.push(resolve));
  }

  #look(): void {
    for (const resolve of this.#watching.splice(0)) resolve();
  }
}

export function told(shown: Frame | undefined): string {
  return shown === undefined ? 'nothing' : `${shown.command} ${JSON.stringify(shown.headers)}`;
}

/** The types of events. */
export function typesOf(frames: readonly Frame[]): (string | undefined)[] {
  return frames.map((each) => header(each, 'type'));
}
