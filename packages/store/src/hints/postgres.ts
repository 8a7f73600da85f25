import { systemClock, type Timer } from '@muster/base';
import type { Limits } from '../limits.js';
import { Session } from '../postgres-session.js';
import type { StoreLog } from '../types.js';
import { type Hear, Listeners } from './listeners.js';
import { type Hints, MISSED } from './types.js';

/** All topics share one channel of NOTIFY: listening to another one takes no round trip. */
const CHANNEL = 'muster_hints';

/**
 * Hints by LISTEN and NOTIFY, over a connection of its own that is made when somebody first listens or sends, and made
 * again when it is lost: whoever listens is then told that some may be missing.
 */
export class PostgresHints implements Hints {
  readonly #url: string;
  readonly #limits: Limits;
  readonly #log: StoreLog;
  readonly #listeners: Listeners;
  #session: Session | null = null;
  #connecting: Promise<void> | null = null;
  /** JSON of topic and text, sent once there is a connection. */
  #waiting: string[] = [];
  /** Sent, and not taken by the database yet. */
  #underWay = 0;
  #retry: Timer | undefined;
  #closed = false;

  constructor(url: string, limits: Limits, log: StoreLog) {
    this.#url = url;
    this.#limits = limits;
    this.#log = log;
    this.#listeners = new Listeners(log);
  }

  send(topic: string, text: string): void {
    const payload = JSON.stringify([topic, text]);
    if (Buffer.byteLength(payload) > this.#limits.hintBytes) throw new Error(`a hint of ${payload.length} is too long`);
    if (this.#closed) return;
    // What does not fit is lost, as hints may be.
    if (this.#waiting.length + this.#underWay < this.#limits.hintsWaiting) this.#waiting.push(payload);
    this.#flush();
  }

  listen(topic: string, hear: Hear): () => void {
    const stop = this.#listeners.add(topic, hear, this.#session !== null);
    this.#connect();
    return stop;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#retry?.cancel();
    await this.#connecting;
    await this.#session?.end();
    this.#session = null;
  }

  #connect(): void {
    if (this.#closed || this.#session !== null || this.#connecting !== null || this.#retry !== undefined) return;
    this.#connecting = this.#begin()
      .catch((error: unknown) => {
        this.#log.warn({ err: error }, 'no connection for hints from other servers');
        this.#later();
      })
      .finally(() => {
        this.#connecting = null;
      });
  }

  async #begin(): Promise<void> {
    const session = await Session.connect(this.#url, this.#limits);
    session.onNotice(
      (payload) => this.#heard(payload),
      () => this.#lost(session),
    );
    await session.query(`listen ${CHANNEL}`).catch(async (error: unknown) => {
      await session.end();
      throw error;
    });
    if (this.#closed) return session.end();
    this.#session = session;
    this.#listeners.tellAll(MISSED);
    this.#flush();
  }

  #lost(session: Session, error?: unknown): void {
    if (this.#session !== session || this.#closed) return;
    this.#session = null;
    this.#log.warn({ err: error }, 'the connection for hints from and to other servers was lost');
    session.drop();
    this.#later();
  }

  #later(): void {
    if (this.#closed) return;
    this.#retry = systemClock.after(this.#limits.watchEveryMs, () => {
      this.#retry = undefined;
      this.#connect();
    });
  }

  #heard(payload: string): void {
    const hint = readHint(payload);
    if (hint === null) this.#log.warn({ payload }, 'somebody sent what is no hint to the channel of hints');
    else this.#listeners.tell(...hint);
  }

  #flush(): void {
    const session = this.#session;
    if (session === null) return this.#connect();
    // Those that come meanwhile go together.
    if (this.#underWay === 0 && this.#waiting.length > 0) void this.#notify(session, this.#waiting.splice(0));
  }

  async #notify(session: Session, payloads: readonly string[]): Promise<void> {
    this.#underWay = payloads.length;
    try {
      await session.query('select pg_notify($1, payload) from unnest($2::text[]) as payload', [CHANNEL, payloads]);
    } catch (error) {
      this.#lost(session, error);
    }
    this.#underWay = 0;
    this.#flush();
  }
}

/** Whoever may use the database may notify; null: it was none of ours. */
function readHint(payload: string): [topic: string, text: string] | null {
  try {
    const hint: unknown = JSON.parse(payload);
    if (!Array.isArray(hint)) return null;
    const [topic, text]: unknown[] = hint;
    return typeof topic === 'string' && typeof text === 'string' ? [topic, text] : null;
  } catch {
    return null;
  }
}
