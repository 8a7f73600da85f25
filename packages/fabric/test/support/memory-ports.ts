import { type Clock, MusterError } from '@muster/base';
import {
  type Authority,
  type Cursor,
  type CursorKey,
  type Cursors,
  EVERY_TYPE,
  type EventAccess,
  type EventLog,
  type LoggedEvent,
  type Login,
  type NewEvent,
  type Page,
  type PageLimit,
  type Revoked,
  type Schedule,
  stamp,
} from '@muster/fabric';

/** The log in memory. `hold` keeps what is appended from becoming durable, `fail` refuses it, `prune` forgets. */
export class MemoryLog implements EventLog {
  readonly #clock: Clock;
  #events: LoggedEvent[] = [];
  #next = 1;
  #last = 0;
  #prunedThrough = 0;
  #held: (() => void)[] | null = null;
  #failing = false;
  readonly #listeners = new Set<(events: readonly LoggedEvent[]) => void>();
  /** How many events each append had. */
  readonly appends: number[] = [];
  reads = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  last(): number {
    return this.#last;
  }

  async append(events: readonly NewEvent[], stored?: () => void): Promise<readonly LoggedEvent[]> {
    this.appends.push(events.length);
    const first = this.#next;
    const atMs = this.#clock.now();
    const logged = events.map((event, index) => ({ position: first + index, atMs, event }));
    this.#next += events.length;
    if (this.#held !== null) await new Promise<void>((resolve) => this.#held?.push(resolve));
    else await Promise.resolve();
    if (this.#failing) throw new MusterError('store_unavailable', { reason: 'the disk is full' });
    stored?.();
    await Promise.resolve();
    this.#events.push(...logged);
    this.#last = logged.at(-1)?.position ?? this.#last;
    for (const listener of this.#listeners) listener(logged);
    return logged;
  }

  onStored(listener: (events: readonly LoggedEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async read(after: number, org: string, limit: PageLimit): Promise<Page> {
    this.reads += 1;
    const last = this.#last;
    const events: LoggedEvent[] = [];
    let bytes = 0;
    for (const event of this.#events) {
      if (event.position <= after || event.event.origin.org !== org) continue;
      bytes += stamp(event).length;
      if (events.length > 0 && (events.length === limit.events || bytes > limit.bytes)) break;
      events.push(event);
    }
    const through = this.#events.some(
      ({ position, event }) => event.origin.org === org && position > (events.at(-1)?.position ?? after),
    )
      ? (events.at(-1)?.position ?? after)
      : last;
    await Promise.resolve();
    return { events, through, prunedThrough: this.#prunedThrough };
  }

  async positionBefore(atMs: number): Promise<number> {
    return this.#events.findLast((event) => event.atMs < atMs)?.position ?? this.#prunedThrough;
  }

  /** Nothing becomes durable until `letGo`. */
  hold(): void {
    this.#held = [];
  }

  letGo(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const go of held) go();
  }

  fail(failing: boolean): void {
    this.#failing = failing;
  }

  prune(through: number): void {
    this.#events = this.#events.filter(({ position }) => position > through);
    this.#prunedThrough = through;
  }
}

/** Cursors in memory. `hold` keeps whatever changes them waiting, `failing` refuses saves. */
export class MemoryCursors implements Cursors {
  readonly #cursors = new Map<string, Cursor>();
  #held: Promise<void> | null = null;
  saves = 0;
  /** Saves that wait. */
  waiting = 0;
  failing = false;

  async load(key: CursorKey): Promise<Cursor | null> {
    return this.#cursors.get(textOf(key)) ?? null;
  }

  /** Returns how to let them go on. */
  hold(): () => void {
    let letGo = () => {};
    this.#held = new Promise((resolve) => {
      letGo = () => {
        this.#held = null;
        resolve();
      };
    });
    return letGo;
  }

  async save(cursors: readonly Cursor[]): Promise<void> {
    const { failing } = this;
    this.waiting += 1;
    await this.#held;
    this.waiting -= 1;
    if (failing || this.failing) throw new MusterError('store_unavailable', { reason: 'the disk is full' });
    this.saves += 1;
    for (const cursor of cursors) this.#cursors.set(textOf(cursor), cursor);
  }

  async delete(key: CursorKey): Promise<boolean> {
    await this.#held;
    return this.#cursors.delete(textOf(key));
  }

  async list(org: string): Promise<readonly Cursor[]> {
    const found = [...this.#cursors].filter(([, cursor]) => cursor.org === org);
    return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, cursor]) => cursor);
  }
}

function textOf({ org, principal, kind, name }: CursorKey): string {
  return `${org} ${principal} ${kind} ${name}`;
}

/** Publishes what is due when it is told to. */
export class MemorySchedule implements Schedule {
  readonly #log: EventLog;
  readonly events: { readonly id: string; readonly event: NewEvent; readonly atMs: number }[] = [];

  constructor(log: EventLog) {
    this.#log = log;
  }

  async put(event: NewEvent, atMs: number): Promise<string> {
    const id = `s${this.events.length + 1}`;
    this.events.push({ id, event, atMs });
    return id;
  }

  async fire(nowMs: number): Promise<void> {
    const due = this.events.filter(({ atMs }) => atMs <= nowMs).sort((a, b) => a.atMs - b.atMs);
    for (const { event } of due) await this.#log.append([event]);
  }
}

/** Lets everybody in whose passcode is `secret` and who is not banned, with the rights that were set for the name. */
export class MemoryAuthority implements Authority {
  readonly #rights = new Map<string, Partial<EventAccess> & { readonly expiresMs?: number }>();
  readonly #listeners = new Set<(revoked: Revoked) => void>();
  /** Keeps logins waiting. */
  held: Promise<void> | null = null;
  failing: Error | null = null;
  logins = 0;
  readonly banned = new Set<string>();
  /** Of the logins from now on. */
  stamp = 0;

  set(login: string, rights: Partial<EventAccess> & { readonly expiresMs?: number }): void {
    this.#rights.set(login, rights);
  }

  async login(login: string, passcode: string): Promise<Login> {
    this.logins += 1;
    await this.held;
    if (this.failing !== null) throw this.failing;
    const [org, name] = login.split('/');
    if (passcode !== 'secret' || this.banned.has(login) || org === undefined || name === undefined)
      throw new MusterError('login_refused');
    const { expiresMs = null, ...rights } = this.#rights.get(login) ?? {};
    const access = {
      org,
      principal: login,
      kind: 'node' as const,
      relay: false,
      publish: EVERY_TYPE,
      subscribe: EVERY_TYPE,
      ...rights,
    };
    return { access, expiresMs, grounds: `grounds of ${login}`, stamp: this.stamp };
  }

  async renew(login: string, grounds: string): Promise<Login> {
    if (grounds !== `grounds of ${login}`) throw new MusterError('login_refused');
    return this.login(login, 'secret');
  }

  onRevoked(listener: (revoked: Revoked) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  revoke(revoked: Revoked): void {
    for (const listener of this.#listeners) listener(revoked);
  }
}
