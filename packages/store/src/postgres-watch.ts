import { type Clock, systemClock, type Timer } from '@muster/base';
import { bounded, TookTooLong } from './bounded.js';
import type { Limits } from './limits.js';
import type { Watch } from './opened.js';
import { Session } from './postgres-session.js';
import type { StoreLog, Trouble } from './types.js';
import { reasonOf } from './unavailable.js';

export interface WatchOptions {
  readonly url: string;
  /** Row of `commit_marker` that is written: hex digits. */
  readonly name: string;
  /** Of the store: since when there is trouble is told by it. */
  readonly clock: Clock;
  readonly limits: Limits;
  readonly log: StoreLog;
  /** PostgreSQL does not answer: whoever waits for it is to be told. Called once for each time that it hangs. */
  readonly hung: (reason: string) => void;
  /** It answers again. */
  readonly answers: () => void;
}

/** Lets what has arrived be read first: after a busy while timers run before sockets. */
const patient: Clock = { ...systemClock, after: (ms, work) => systemClock.after(ms, () => setImmediate(work)) };

/**
 * Looks again and again, over a connection of its own, whether PostgreSQL answers and whether it takes a write. Without
 * it, nobody would notice that PostgreSQL hangs (frozen, swapping, behind a network that drops packets) before the
 * limits of statements pass, which are long for the sake of long statements.
 *
 * It waits by the real clock, as the limits of the driver do: a database does not keep to the clock of a test.
 */
export class PostgresWatch implements Watch {
  readonly #options: WatchOptions;
  readonly #url: string;
  readonly #limits: Limits;
  #session: Session | null = null;
  #trouble: Trouble | null = null;
  #hung = false;
  /** Whether the last look got no answer at all. */
  #unconnected = false;
  /** Whether something was stored since it last looked. */
  #written = false;
  #rounds = 0;
  #stopped = false;
  #wake: () => void = () => undefined;
  readonly #running: Promise<void>;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#url = options.url;
    const { limits } = options;
    // The limits of the driver are for what is no longer waited for here.
    this.#limits = { ...limits, connectMs: 2 * limits.watchMs, statementMs: limits.watchMs };
    this.#running = this.#run();
  }

  trouble(): Trouble | null {
    return this.#trouble;
  }

  stored(): void {
    this.#written = true;
    this.#well();
    // A connection of its own that it does not have yet could not tell it that those of others hang.
    if (this.#session === null || this.#session.lost) this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await this.#look();
      if (!this.#stopped) await this.#pause();
    }
    const session = this.#session;
    if (session === null) return;
    // The limit of its statements holds here, too.
    await session.query(`delete from commit_marker where lane = '${this.#options.name}'`).catch(() => undefined);
    await session.end();
  }

  async #look(): Promise<void> {
    try {
      this.#written = false;
      if (!(await this.#answers())) return;
      // Who writes all the time needs no further proof of it.
      if (!this.#written) await this.#answered(this.#write(), 'the write of a row');
      this.#well();
    } catch (error) {
      this.#lose();
      this.#troubled(`it takes no writes: ${reasonOf(error)}`);
    }
  }

  /** Whether it answers a read. A connection that was ended is made again first: that alone is no trouble. */
  async #answers(): Promise<boolean> {
    if (this.#session?.lost) this.#lose();
    for (let attempt = 1; ; attempt++) {
      const fresh = this.#session === null;
      try {
        this.#session ??= await this.#connect();
        await this.#answered(this.#session.query('select 1'), 'an answer of PostgreSQL');
        break;
      } catch (error) {
        const silent = error instanceof TookTooLong;
        this.#lose();
        if (!silent && !fresh && attempt === 1) continue;
        this.#troubled(reasonOf(error));
        // A new connection may be slow to come by where those that are there are served; but not twice in a row.
        if (silent && (!fresh || this.#unconnected)) this.#hang();
        this.#unconnected = silent;
        return false;
      }
    }
    this.#unconnected = false;
    this.#resume();
    return true;
  }

  #well(): void {
    this.#trouble = null;
    this.#resume();
  }

  #resume(): void {
    if (!this.#hung) return;
    this.#hung = false;
    this.#options.answers();
  }

  #connect(): Promise<Session> {
    const connecting = Session.connect(this.#url, this.#limits);
    return this.#answered(connecting, 'connecting to PostgreSQL').catch((error: unknown) => {
      // It may come when nobody waits for it any more.
      connecting.then(
        (session) => session.end(),
        () => undefined,
      );
      throw error;
    });
  }

  async #write(): Promise<void> {
    const { name } = this.#options;
    this.#rounds += 1;
    await this.#session?.query(
      `insert into commit_marker (lane, seq, at) values ('${name}', ${this.#rounds}, ${systemClock.now()})
       on conflict (lane) do update set seq = excluded.seq, at = excluded.at`,
    );
  }

  #troubled(reason: string): void {
    if (this.#trouble === null) this.#options.log.warn({ reason }, `the database is in trouble: ${reason}`);
    this.#trouble = { problem: 'unavailable', reason, since: this.#trouble?.since ?? this.#options.clock.now() };
  }

  #hang(): void {
    if (this.#hung) return;
    this.#hung = true;
    this.#options.hung(this.#trouble?.reason ?? 'PostgreSQL does not answer');
  }

  #lose(): void {
    const session = this.#session;
    this.#session = null;
    session?.drop();
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer: Timer = systemClock.after(this.#limits.watchEveryMs, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  #answered<T>(work: Promise<T>, what: string): Promise<T> {
    return bounded(patient, work, this.#limits.watchMs, what).catch((error: unknown) => {
      work.catch(() => undefined);
      throw error;
    });
  }
}
