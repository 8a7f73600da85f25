import type { Clock, Timer } from '@muster/base';
import type { Client, ClientChannel, SFTPWrapper } from 'ssh2';
import { connectionTrouble, hasNoRoom, SshTrouble } from './errors.js';
import type { SshHost, SshSecret } from './host.js';
import { SSH_LIMITS } from './limits.js';
import { login } from './login.js';
import { Slots } from './slots.js';

/** A channel for files. What was opened in one means nothing, or something else, in another. */
export interface FileChannel {
  readonly sftp: SFTPWrapper;
  readonly lost: boolean;
}

/** Asked at each login, and not kept. */
export type SecretOf = () => Promise<SshSecret>;

export interface LinkOptions {
  readonly clock: Clock;
  readonly idleMs?: number;
  readonly connectMs?: number;
  /** Between two questions whether the host is still there. */
  readonly keepaliveMs?: number;
  /** Waited for before each login; what it answers is called when that connection is gone. */
  readonly admit?: (link: SshLink) => Promise<() => void>;
  /** What is thrown for a trouble with the connection; itself when absent. */
  readonly asError?: (trouble: SshTrouble) => Error;
}

/** The one connection to a host: made when it is needed, made again when it broke, closed when nobody used it for a while. */
export class SshLink {
  readonly #host: () => SshHost;
  readonly #secret: SecretOf;
  readonly #options: LinkOptions;
  readonly #slots = new Slots(SSH_LIMITS.channels);
  #client: Promise<Client> | null = null;
  #sftp: Promise<FileChannel> | null = null;
  #uses = 0;
  #idle: Timer | null = null;
  #closed = false;

  /** `host` is asked at each login. */
  constructor(host: () => SshHost, secret: SecretOf, options: LinkOptions) {
    this.#host = host;
    this.#secret = secret;
    this.#options = options;
  }

  /** Nobody uses it, and nothing is open. */
  get resting(): boolean {
    return this.#uses === 0 && this.#client === null;
  }

  /** It is open, or about to be. */
  get connected(): boolean {
    return this.#client !== null;
  }

  /** Logs in, unless that was done. @throws what `asError` makes of a SshTrouble */
  async ready(): Promise<void> {
    const release = this.use();
    try {
      await this.#connected();
    } catch (error) {
      throw error instanceof SshTrouble ? this.#told(error) : error;
    } finally {
      release();
    }
  }

  /** Closes it, unless it is used or none is open. Whether it did. */
  rest(): boolean {
    if (this.#uses > 0 || this.#client === null) return false;
    this.#drop();
    return true;
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
      const { clock, idleMs = SSH_LIMITS.idleMs } = this.#options;
      this.#idle = clock.after(idleMs, () => this.#drop());
    };
  }

  /**
   * One of so many commands at once: it counts until the host has closed its channel. `once`: it is not asked for again when the
   * connection breaks, as then it may have begun. `work` listens to the channel before anything else is heard: of a command that is quick, its end may come with the word
   * that it has begun.
   */
  async command<T>(line: string, work: (channel: ClientChannel) => Promise<T>, once = false): Promise<T> {
    const release = this.use();
    await this.#slots.take();
    const begun = (channel: ClientChannel): Promise<T> => {
      channel.once('close', () => {
        this.#slots.give();
        release();
      });
      const done = work(channel);
      // Who waits for it hears of it a moment later.
      done.catch(() => undefined);
      return done;
    };
    let done: { readonly of: Promise<T> };
    try {
      done = await this.#opened<ClientChannel, { readonly of: Promise<T> }>(
        (client, opened) => client.exec(line, opened),
        (channel) => ({ of: begun(channel) }),
        once,
      );
    } catch (error) {
      this.#slots.give();
      release();
      throw error;
    }
    return await done.of;
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
      const sftp = await this.#opened<SFTPWrapper, SFTPWrapper>(
        (client, done) => client.sftp(done),
        (opened) => opened,
      );
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

  /** `begin` is called as soon as it is open, before anything else of it is read. */
  async #opened<Channel, T>(
    open: (client: Client, done: (error: Error | undefined, channel: Channel) => void) => void,
    begin: (channel: Channel) => T,
    once = false,
  ): Promise<T> {
    const { clock, connectMs = SSH_LIMITS.connectMs } = this.#options;
    const ask = async (): Promise<T> => {
      const client = await this.#connected();
      return new Promise<T>((resolve, reject) => {
        // A connection that ends while it is asked says nothing.
        const closed = (): void => settle(() => reject(new Error('the connection was lost')));
        const timer = clock.after(connectMs, () => {
          const text = `${this.#host().what} opened no channel in ${connectMs} ms`;
          settle(() => reject(new SshTrouble('CONNECTION_TIMEOUT', text)));
          client.destroy();
        });
        const settle = (how: () => void): void => {
          timer.cancel();
          client.off('close', closed);
          how();
        };
        client.once('close', closed);
        open(client, (error, channel) => settle(() => (error === undefined ? resolve(begin(channel)) : reject(error))));
      });
    };
    const until = clock.monotonic() + connectMs;
    let askedAgain = once;
    for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, 1000)) {
      try {
        return await ask();
      } catch (error) {
        // To log in failed: that is the answer.
        if (error instanceof SshTrouble) throw this.#told(error);
        const full = hasNoRoom(error);
        // Else the connection may have broken long ago without a sign.
        if (full ? clock.monotonic() + pauseMs > until : askedAgain)
          throw this.#told(connectionTrouble(this.#host(), error));
        if (full) await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
        else askedAgain = true;
      }
    }
  }

  #told(trouble: SshTrouble): Error {
    return this.#options.asError?.(trouble) ?? trouble;
  }

  #connected(): Promise<Client> {
    if (this.#closed) throw new SshTrouble('CONNECTION_FAILURE', 'the connection was closed');
    if (this.#client !== null) return this.#client;
    const made = this.#login();
    const lost = (): void => {
      if (this.#client !== made) return;
      this.#client = null;
      this.#sftp = null;
    };
    made.then((client) => client.setMaxListeners(0).on('error', lost).on('close', lost), lost);
    this.#client = made;
    return made;
  }

  async #login(): Promise<Client> {
    const { clock, connectMs, keepaliveMs, admit } = this.#options;
    const release = await admit?.(this);
    try {
      const client = await login(this.#host(), await this.#secret(), clock, { connectMs, keepaliveMs });
      if (release !== undefined) client.once('close', release);
      return client;
    } catch (error) {
      release?.();
      throw error;
    }
  }

  #drop(): void {
    this.#idle?.cancel();
    this.#idle = null;
    this.dropSftp();
    this.#client?.then((client) => client.end()).catch(() => undefined);
    this.#client = null;
  }
}
