import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { EVERY_TYPE, type EventAccess } from '../../src/event/access.js';
import { encodeFrame } from '../../src/stomp/encode.js';
import { type Frame, frame, type Headers, header } from '../../src/stomp/frame.js';
import { FrameParser } from '../../src/stomp/parser.js';

const LIMITS = { headBytes: 65_536, bodyBytes: 1 << 20, headers: 512, headerNameBytes: 256 };
const PROTOCOL = new Set(['destination', 'receipt', 'on-behalf', 'at', 'content-length', 'transaction']);

/** What a parent does when it is asked nothing else. */
const HABITS = {
  /** Reads what comes. */
  reads: true,
  /** Answers CONNECT and SUBSCRIBE. */
  welcomes: true,
  /** Confirms all else. */
  confirms: true,
  /** Sends what was published to everybody who subscribed, its publisher among them (F3, O-1). */
  passesDown: true,
  answersLogins: true,
  /** What it says of heart-beats; it sends none. */
  heartBeat: '0,0',
};

interface Child {
  readonly socket: Socket;
  readonly subscriptions: Set<string>;
}

/**
 * The upper end of a relay's connection, over real sockets, which does as it is told. It keeps what it received, and
 * knows just enough of STOMP to be a root.
 */
export class ScriptedParent {
  /** All frames of all connections, in the order in which they came. */
  readonly frames: Frame[] = [];
  readonly habits = { ...HABITS };
  /** By login. Who is not here is refused. */
  readonly logins = new Map<string, EventAccess>();
  connections = 0;
  readonly #children = new Set<Child>();
  #server: Server | null = null;
  #port = 0;
  #position = 0;
  #waiting: { readonly seen: () => boolean; readonly resolve: () => void }[] = [];

  static async start(): Promise<ScriptedParent> {
    const parent = new ScriptedParent();
    parent.allow('default/client');
    parent.allow('default/relay', { relay: true });
    await parent.listen();
    return parent;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `stomp://127.0.0.1:${this.#port}`;
  }

  /** Connections of now. */
  get children(): number {
    return this.#children.size;
  }

  allow(login: string, access: Partial<EventAccess> = {}): void {
    const [org = ''] = login.split('/');
    this.logins.set(login, {
      org,
      principal: login,
      kind: 'node',
      relay: false,
      publish: EVERY_TYPE,
      subscribe: EVERY_TYPE,
      ...access,
    });
  }

  /** On the same port as before, if there was one. */
  async listen(): Promise<void> {
    this.#server = createServer((socket) => this.#welcome(socket));
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** As if the process were killed. */
  async die(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    for (const { socket } of this.#children) socket.resetAndDestroy();
    if (server !== null) await new Promise((resolve) => server.close(resolve));
  }

  /** Stops reading, as a process that was frozen; what it is sent is still taken by the system. */
  freeze(): void {
    this.habits.reads = false;
    for (const { socket } of this.#children) socket.pause();
  }

  thaw(): void {
    this.habits.reads = true;
    for (const { socket } of this.#children) socket.resume();
  }

  /** To every connection. */
  send(command: string, headers: Headers = [], body = ''): void {
    for (const { socket } of this.#children) socket.write(encodeFrame(frame(command, headers, Buffer.from(body))));
  }

  /** An event of the root's own. */
  publish(type: string, attributes: Headers = [], body = '', source = 'default/root'): void {
    this.#passDown([['type', type], ...attributes], Buffer.from(body), source);
  }

  /** Frames of one command. */
  of(command: string): readonly Frame[] {
    return this.frames.filter((one) => one.command === command);
  }

  /** SENDs of events; what a relay asks for itself is left out. */
  get published(): readonly Frame[] {
    return this.of('SEND').filter((one) => header(one, 'destination') === '/topic/events');
  }

  async until(wanted: () => boolean): Promise<void> {
    if (wanted()) return;
    await new Promise<void>((resolve) => this.#waiting.push({ seen: wanted, resolve }));
  }

  #welcome(socket: Socket): void {
    const child: Child = { socket, subscriptions: new Set() };
    this.#children.add(child);
    this.connections += 1;
    socket.setNoDelay(true);
    const parser = new FrameParser(LIMITS, { frame: (raw) => this.#frame(child, raw.frame()) });
    socket.on('data', (bytes) => {
      parser.push(bytes);
      this.#look();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#children.delete(child);
      this.#look();
    });
    if (!this.habits.reads) socket.pause();
    this.#look();
  }

  #frame(child: Child, got: Frame): void {
    this.frames.push(got);
    const answer = (command: string, headers: Headers, body = '') =>
      child.socket.write(encodeFrame(frame(command, headers, Buffer.from(body))));
    const receipt = header(got, 'receipt');
    const confirm = () => receipt !== undefined && answer('RECEIPT', [['receipt-id', receipt]]);
    switch (got.command) {
      case 'CONNECT':
        if (this.habits.welcomes) {
          answer('CONNECTED', [
            ['version', '1.2'],
            ['relay', 'true'],
            ['heart-beat', this.habits.heartBeat],
          ]);
        }
        return;
      case 'SUBSCRIBE':
        if (!this.habits.welcomes) return;
        child.subscriptions.add(header(got, 'id') ?? '');
        confirm();
        return;
      case 'SEND':
        if (header(got, 'destination') === '/muster/login') {
          if (this.habits.answersLogins) this.#login(got, answer);
          return;
        }
        if (this.habits.confirms) confirm();
        if (this.habits.passesDown) {
          const attributes = got.headers.filter(([name]) => !PROTOCOL.has(name));
          this.#passDown(attributes, got.body, header(got, 'on-behalf') ?? 'default/relay');
        }
        return;
      default:
        if (this.habits.confirms) confirm();
    }
  }

  #login(got: Frame, answer: (command: string, headers: Headers, body: string) => void): void {
    const { login, passcode, grounds } = JSON.parse(Buffer.from(got.body).toString()) as Record<string, string>;
    const proven = passcode === 'secret' || grounds === `grounds of ${login}`;
    const access = proven ? this.logins.get(login ?? '') : undefined;
    const refusal = { error: { code: 'login_refused', message: 'login refused' } };
    answer(
      'MESSAGE',
      [
        ['subscription', header(got, 'reply-to') ?? ''],
        ['request', header(got, 'request') ?? ''],
      ],
      JSON.stringify(access === undefined ? refusal : { access, expiresMs: null, grounds: `grounds of ${login}` }),
    );
  }

  #passDown(attributes: Headers, body: Uint8Array, source: string): void {
    this.#position += 1;
    const [org = ''] = source.split('/');
    for (const { socket, subscriptions } of this.#children) {
      if (!subscriptions.has('all')) continue;
      const headers: Headers = [
        ['subscription', 'all'],
        ['destination', '/topic/events'],
        ['message-id', String(this.#position)],
        ['org', org],
        ['source', source],
        ['time', '2026-11-20T12:00:00.000Z'],
        ...attributes,
      ];
      socket.write(encodeFrame(frame('MESSAGE', headers, body)));
    }
  }

  #look(): void {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ seen }) => !seen());
    for (const { seen, resolve } of waiting) if (seen()) resolve();
  }
}
