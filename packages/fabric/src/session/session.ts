import { MusterError, type Timer } from '@muster/wire';
import type { EventAccess } from '../access.js';
import type { Channel, ChannelHandlers } from '../channel.js';
import { FABRIC_LIMITS } from '../limits.js';
import type { Login, Revoked } from '../root/ports.js';
import type { StompVersion } from '../stomp/frame.js';
import { FrameParser } from '../stomp/parser.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import { connectedFrame, errorFrame, receiptFrame } from './answers.js';
import type { ClientPublisher } from './client-publisher.js';
import type { EventLimit, SessionContext } from './context.js';
import {
  type HeartBeat,
  OPENING,
  type RefusedBy,
  type SessionEffect,
  type SessionEvent,
  type SessionState,
  step,
} from './machine.js';
import { OpenSession } from './open-session.js';
import { Outlet } from './outlet.js';
import { inOpenSession, parserLimits, Reception } from './reception.js';
import { refusalFrame } from './refusal.js';

const NOBODY: Login = {
  access: {
    org: '',
    principal: '',
    kind: 'client',
    relay: false,
    publish: { granted: [], restricted: [], open: [] },
    subscribe: { granted: [], restricted: [], open: [] },
  },
  expiresMs: null,
  grounds: '',
};

/** One client's connection: the shell of `machine.ts`. */
export class Session implements ChannelHandlers {
  readonly id: number;
  readonly remote: string;
  readonly #channel: Channel;
  readonly #context: SessionContext<Session>;
  readonly #outlet: Outlet;
  #reception: Reception | null = new Reception((frame) => this.#step({ type: 'frame', frame }));
  #state: SessionState = OPENING;
  #version: StompVersion = '1.2';
  #sendMs: number | null = null;
  #refusedBy: RefusedBy = 'error';
  #asksRights = false;
  #login: Login = NOBODY;
  #openingTimer: Timer | null;
  /** What there is once it is open: the parser and the publisher until the end, the rest until it wants to leave. */
  #parser: FrameParser | null = null;
  #limit: EventLimit | null = null;
  #publisher: ClientPublisher | null = null;
  #open: OpenSession | null = null;

  constructor(id: number, channel: Channel, context: SessionContext<Session>) {
    const { clock, flush, metrics, outletBytes } = context;
    this.id = id;
    this.remote = channel.remote;
    this.#channel = channel;
    this.#context = context;
    this.#outlet = new Outlet(channel, flush, metrics, outletBytes, {
      wrote: () => this.#open?.heartBeat.wrote(),
      slow: () => this.#slow(),
    });
    this.#openingTimer = clock.after(FABRIC_LIMITS.openingMs, () => this.#step({ type: 'opening_over' }));
  }

  /** How long it waits for the answer to an event, if it said so. */
  get sendMs(): number | null {
    return this.#sendMs;
  }

  get access(): EventAccess {
    return this.#login.access;
  }

  /** Logged in, and not on the way out. */
  get open(): boolean {
    return this.#state.kind === 'open';
  }

  get version(): StompVersion {
    return this.#version;
  }

  /** Bytes that wait for the client to read them. */
  get queued(): number {
    return this.#outlet.bytes;
  }

  get subscriptions(): number {
    return this.#open?.subscribing.size ?? 0;
  }

  /** Ends it with an ERROR. */
  cut(error: MusterError): void {
    this.#step({ type: 'cut', error });
  }

  /** Ends it at once; what was received and not looked at is lost. */
  destroy(): void {
    this.#step({ type: 'destroyed' });
  }

  /** Whether what its login was granted may hold no longer. */
  isMeant({ org, principal, before }: Revoked): boolean {
    const { access, stamp } = this.#login;
    if (org !== access.org || (principal !== null && principal !== access.principal)) return false;
    return before === undefined || stamp === undefined || stamp < before;
  }

  /** Tells a relay that what it was told of a login holds no longer. */
  revoked(revoked: Revoked): void {
    const { relay, org } = this.access;
    if (relay && org === revoked.org) this.#open?.logins.revoked(revoked);
  }

  /** What its login stands on. */
  get grounds(): string {
    return this.#login.grounds;
  }

  /** Its login was judged again: it goes on if it may do the same as before. */
  renewed(login: Login): void {
    if (JSON.stringify(login.access) === JSON.stringify(this.access)) this.#login = login;
    else this.cut(new MusterError('event_revoked', { principal: this.access.principal }));
  }

  /** Tells a relay that it may have missed what was revoked. */
  renewBelow(): void {
    if (this.access.relay) this.#open?.logins.renew();
  }

  /** Tells its subscriptions that events may be missing here. */
  gap(): void {
    this.#open?.subscribing.gap();
  }

  data(bytes: Uint8Array): void {
    this.#context.metrics.bytesIn += bytes.length;
    if (!this.#context.mayRead(this)) return;
    switch (this.#state.kind) {
      case 'opening':
      case 'checking':
        return this.#reading(() => this.#reception?.read(bytes));
      case 'open':
        this.#open?.heartBeat.heard();
        this.#open?.publishing.reading(bytes);
        this.#reading(() => this.#parser?.push(bytes));
    }
  }

  drained(): void {
    this.#outlet.drained();
  }

  closed(): void {
    this.#step({ type: 'channel_closed' });
    this.#context.closed(this);
  }

  #reading(read: () => unknown): void {
    try {
      read();
    } catch (error) {
      const told = this.#limit === null ? error : inOpenSession(error, this.#limit);
      this.#fail(told, this.#parser?.receipt ?? null);
    }
  }

  #frame(raw: RawFrame): void {
    if (this.#state.kind !== 'open') return this.#parser?.stop();
    try {
      // Most frames are SENDs, and the machine has nothing to say about them here.
      if (raw.command === 'SEND') this.#open?.publishing.send(raw);
      else this.#step({ type: 'frame', frame: raw.frame() });
    } catch (error) {
      this.#refuse(error, raw.header('receipt') ?? null, null);
      // Of what belongs together, all is done or nothing.
      const transaction = raw.header('transaction');
      if (transaction !== undefined) this.#open?.abandon(transaction);
    }
  }

  /**
   * A frame cannot be obeyed. That ends the connection, but not that of a relay or whoever else has asked for it: what
   * one of its clients did wrong must not disturb all the others.
   * @param subscription the one that cannot go on, if it is about one.
   */
  #refuse(error: unknown, receipt: string | null, subscription: string | null): void {
    const { access } = this;
    const goesOn = this.open && (access.relay || this.#refusedBy === 'message');
    if (!(error instanceof MusterError) || !goesOn) return this.#fail(error, receipt);
    // Whoever may go on after a mistake may make many: at `info` they would fill the log.
    this.#context.log.debug({ remote: this.remote, principal: access.principal, code: error.code }, error.message);
    this.#outlet.send(refusalFrame(error, { receipt, subscription }, this.#version));
    if (subscription !== null) this.#open?.subscribing.drop(subscription);
  }

  /** Ends it with an ERROR. */
  #fail(cause: unknown, receipt: string | null): void {
    const { log, metrics } = this.#context;
    const about = { remote: this.remote, principal: this.access.principal };
    const error = cause instanceof MusterError ? cause : new MusterError('internal', {}, { cause });
    if (error === cause) log.info({ ...about, code: error.code }, error.message);
    else log.error({ ...about, err: cause }, 'an event session failed');
    metrics.protocolErrors += 1;
    this.#step({ type: 'refused', error, receipt });
  }

  #step(event: SessionEvent): void {
    const { state, effects } = step(this.#state, event, this.#context.rules);
    this.#state = state;
    if (state.kind === 'closing' || state.kind === 'closed') {
      this.#parser?.stop();
      if (this.#publisher !== null) this.#publisher.gone = true;
    }
    for (const effect of effects) this.#run(effect);
  }

  #run(effect: SessionEffect): void {
    switch (effect.type) {
      case 'stop_opening_timer':
        this.#openingTimer?.cancel();
        this.#openingTimer = null;
        return;
      case 'check':
        this.#version = effect.version;
        this.#refusedBy = effect.refusedBy;
        this.#sendMs = effect.sendMs;
        this.#asksRights = effect.asksRights;
        return this.#check(effect.login, effect.passcode);
      case 'open':
        return this.#opened(effect.heartBeat);
      case 'execute':
        return this.#open?.execute(effect.frame);
      case 'settle':
        if (this.#publisher?.isSettled !== false) this.#step({ type: 'settled' });
        return;
      case 'receipt':
        return this.#outlet.send(receiptFrame(effect.id, [], this.#version));
      case 'error':
        return this.#outlet.last(errorFrame(effect.error, effect.receipt, this.#version));
      case 'release':
        this.#open?.end();
        this.#open = null;
        return;
      case 'end':
        this.#outlet.flush();
        this.#outlet.close();
        return this.#channel.end();
      case 'destroy':
        this.#outlet.close();
        return this.#channel.destroy();
    }
  }

  #check(login: string, passcode: string): void {
    const { broker, metrics } = this.#context;
    this.#channel.pause();
    broker.login(login, passcode, this.remote).then(
      (granted) => {
        if (this.#state.kind !== 'checking') return;
        this.#login = granted;
        this.#step({ type: 'accepted' });
      },
      (error: unknown) => {
        metrics.loginsRefused += 1;
        this.#fail(error, null);
      },
    );
  }

  #opened(heartBeat: HeartBeat): void {
    const { log, metrics, rules, server } = this.#context;
    const limit = this.#context.eventLimit();
    const { bytes: eventBytes } = limit;
    const { id, access } = this;
    const version = this.#version;
    this.#parser = new FrameParser(parserLimits(eventBytes), { frame: (raw) => this.#frame(raw) });
    this.#parser.version = version;
    this.#limit = limit;
    this.#open = new OpenSession({
      context: this.#context,
      channel: this.#channel,
      outlet: this.#outlet,
      login: this.#login,
      eventBytes,
      version,
      heartBeat,
      receipt: (receipt, more) => this.#outlet.send(receiptFrame(receipt, more, version)),
      refused: (error, receipt, subscription) => this.#refuse(error, receipt, subscription),
      settled: () => this.#step({ type: 'settled' }),
      silent: () => {
        metrics.silent += 1;
        log.info({ remote: this.remote, principal: access.principal }, 'an event client fell silent');
        this.destroy();
      },
      expired: () => this.cut(new MusterError('event_login_expired', { principal: access.principal })),
    });
    this.#publisher = this.#open.publisher;
    const follow = this.#asksRights ? access.subscribe : null;
    this.#outlet.send(
      connectedFrame({ version, server, session: id, idleMs: rules.idleMs, access, eventBytes, follow }),
    );
    this.#context.opened(this);
    this.#channel.resume();
    const early = this.#reception?.early;
    this.#reception = null;
    if (early !== undefined && early.length > 0) this.data(early);
  }

  #slow(): void {
    const { log, metrics, outletBytes: limit } = this.#context;
    metrics.slowDisconnects += 1;
    log.warn({ remote: this.remote, principal: this.access.principal, limit }, 'an event client reads too slowly');
    this.cut(new MusterError('event_slow_client', { limit }));
  }
}
