import type { Clock, Timer } from '@muster/base';
import type { Client, ClientChannel, SFTPWrapper } from 'ssh2';
import { SYSTEM_LIMITS } from '../limits.js';
import { type SystemSecret, SystemTrouble } from '../types.js';
import { connectionTrouble, hasNoRoom } from './errors.js';
import { login, type SshSystem } from './login.js';
import { Slots } from './slots.js';

/** A channel for files. What was opened in one means nothing, or something else, in another. */
export interface FileChannel {
  readonly sftp: SFTPWrapper;
  readonly lost: boolean;
}

/** Asked at each login, and not kept. */
export type SecretOf = () => Promise<SystemSecret>;

export interface LinkOptions {
  readonly clock: Clock;
  readonly idleMs?: number;
  readonly connectMs?: number;
}

/** The one connection to a host: made when it is needed, made again when it broke, closed when nobody used it for a while. */
export class SshLink {
  readonly #system: SshSystem;
  readonly #secret: SecretOf;
  readonly #options: LinkOptions;
  readonly #slots = new Slots(SYSTEM_LIMITS.channels);
  #client: Promise<Client> | null = null;
  #sftp: Promise<FileChannel> | null = null;
  #uses = 0;
  #idle: Timer | null = null;
  #closed = false;

  constructor(system: SshSystem, secret: SecretOf, options: LinkOptions) {
    this.#system = system;
    this.#secret = secret;
    this.#options = options;
  }

  /** Nobody uses it, and nothing is open. */
  get resting(): boolean {
    return this.#uses === 0 && this.#client === null;
  }

  /** It stays open until what this answers is called. */
  use(): () => void {
    this.#idle?.cancel();
    this.#idle = null;
    this.#uses++;
    let used = true;
    return () => {
      if (!used) return;
      used = false;
      this.#uses--;
      if (this.#uses > 0 || this.#client === null) return;
      const { clock, idleMs = SYSTEM_LIMITS.idleMs } = this.#options;
      this.#idle = clock.after(idleMs, () => this.#drop());
    };
  }

  /** One of so many commands at once: it counts until the host has closed its channel. */
  async command<T>(line: string, work: (channel: ClientChannel) => Promise<T>): Promise<T> {
    const release = this.use();
    await this.#slots.take();
    let channel: ClientChannel;
    try {
      channel = await this.#opened<ClientChannel>((client, done) => client.exec(line, done));
    } catch (error) {
      this.#slots.give();
      release();
      throw error;
    }
    channel.once('close', () => {
      this.#slots.give();
      release();
    });
    return await work(channel);
  }

  /** The channel for files. */
  sftp(): Promise<FileChannel> {
    if (this.#sftp !== null) return this.#sftp;
    const made = this.#openSftp(() => {
      if (this.#sftp === made) this.#sftp = null;
    });
    this.#sftp = made;
    return made;
  }

  /** What is asked of it after did not end: the next who asks gets another. */
  dropSftp(): void {
    this.#sftp?.then(({ sftp }) => sftp.end()).catch(() => undefined);
    this.#sftp = null;
  }

  close(): void {
    this.#closed = true;
    this.#drop();
  }

  async #openSftp(gone: () => void): Promise<FileChannel> {
    try {
      const sftp = await this.#opened<SFTPWrapper>((client, done) => client.sftp(done));
      const channel = { sftp, lost: false };
      const lost = (): void => {
        channel.lost = true;
        gone();
      };
      // Each request listens for its end.
      sftp.setMaxListeners(0).once('close', lost).once('end', lost).on('error', lost);
      return channel;
    } catch (error) {
      gone();
      throw error;
    }
  }

  async #opened<T>(open: (client: Client, done: (error: Error | undefined, channel: T) => void) => void): Promise<T> {
    const { clock, connectMs = SYSTEM_LIMITS.connectMs } = this.#options;
    const ask = async (): Promise<T> => {
      const client = await this.#connected();
      return new Promise<T>((resolve, reject) => {
        // A connection that ends while it is asked says nothing.
        const closed = (): void => settle(() => reject(new Error('the connection was lost')));
        const timer = clock.after(connectMs, () => {
          const text = `system ${this.#system.name} opened no channel in ${connectMs} ms`;
          settle(() => reject(new SystemTrouble(this.#system.name, 'CONNECTION_TIMEOUT', text)));
          client.destroy();
        });
        const settle = (how: () => void): void => {
          timer.cancel();
          client.off('close', closed);
          how();
        };
        client.once('close', closed);
        open(client, (error, channel) => settle(() => (error === undefined ? resolve(channel) : reject(error))));
      });
    };
    const until = clock.monotonic() + connectMs;
    let askedAgain = false;
    for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, 1000)) {
      try {
        return await ask();
      } catch (error) {
        // To log in failed: that is the answer.
        if (error instanceof SystemTrouble) throw error;
        const full = hasNoRoom(error);
        // Else the connection may have broken long ago without a sign.
        if (full ? clock.monotonic() + pauseMs > until : askedAgain) throw connectionTrouble(this.#system, error);
        if (full) await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
        else askedAgain = true;
      }
    }
  }

  #connected(): Promise<Client> {
    if (this.#closed) throw new SystemTrouble(this.#system.name, 'CONNECTION_FAILURE', 'the connection was closed');
    if (this.#client !== null) return this.#client;
    const { clock, connectMs } = this.#options;
    const made = this.#secret().then((secret) => login(this.#system, secret, clock, connectMs));
    const lost = (): void => {
      if (this.#client !== made) return;
      this.#client = null;
      this.#sftp = null;
    };
    made.then((client) => client.setMaxListeners(0).on('error', lost).on('close', lost), lost);
    this.#client = made;
    return made;
  }

  #drop(): void {
    this.#idle?.cancel();
    this.#idle = null;
    this.dropSftp();
    this.#client?.then((client) => client.end()).catch(() => undefined);
    this.#client = null;
  }
}
