import { systemClock } from '@muster/base';
import { createRoot, type Listener, listenForChannels, type Root, type RootOptions } from '@muster/fabric';
import { MemoryAuthority, MemoryCursors, MemoryLog, MemorySchedule } from './memory-ports.js';
import { type ConnectOptions, RawClient } from './raw-client.js';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly details: object;
  readonly message: string;
}

/** A root on a real socket, over ports in memory. */
export class RootFixture {
  readonly log: MemoryLog;
  readonly cursors = new MemoryCursors();
  readonly schedule: MemorySchedule;
  readonly authority = new MemoryAuthority();
  readonly lines: LogLine[] = [];
  readonly root: Root;
  #listener: Listener | null = null;
  readonly #clients: RawClient[] = [];

  constructor(options: Partial<RootOptions> = {}) {
    const { clock = systemClock } = options;
    this.log = new MemoryLog(clock);
    this.schedule = new MemorySchedule(this.log);
    const note = (level: LogLine['level']) => (details: object, message: string) =>
      void this.lines.push({ level, details, message });
    this.root = createRoot({
      ports: { authority: this.authority, log: this.log, cursors: this.cursors, schedule: this.schedule },
      clock,
      log: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') },
      server: 'muster/test',
      ...options,
    });
  }

  static async start(options: Partial<RootOptions> = {}): Promise<RootFixture> {
    const fixture = new RootFixture(options);
    fixture.#listener = await listenForChannels('stomp://127.0.0.1:0', {}, fixture.root.accept);
    return fixture;
  }

  get port(): number {
    return Number(this.#listener?.url.split(':').at(-1));
  }

  /** Logged in; closed at the end. */
  async client(login = 'default/client', options: ConnectOptions = {}): Promise<RawClient> {
    const client = this.raw();
    await client.connect(login, options);
    return client;
  }

  /** Connected, nothing sent. */
  raw(): RawClient {
    const client = new RawClient(this.port);
    this.#clients.push(client);
    return client;
  }

  /** Looked at in every turn of the loop. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve));
  }

  async end(): Promise<void> {
    for (const { socket } of this.#clients) socket.destroy();
    await this.#listener?.close();
    await this.root.stop();
  }
}
