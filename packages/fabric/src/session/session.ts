import type { Timer } from '@muster/base';
import { MusterError } from '../errors.js';
import type { EventAccess } from '../event/access.js';
import { FABRIC_LIMITS } from '../limits.js';
import { OutboundQueue } from '../outbound/outbound-queue.js';
import type { Login, Revoked } from '../protocol/login.js';
import { refusalFrame } from '../protocol/refusals.js';
import type { StompVersion } from '../stomp/frame.js';
import { FrameParser } from '../stomp/parser.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import type { Channel, ChannelHandlers } from '../transport/channel.js';
import { ConnectReader, connectedClientError, parserLimits } from './connect-reader.js';
import { ConnectedSession } from './connected-session.js';
import type { EventLimit, SessionContext } from './context.js';
import {
  CONNECTING,
  type HeartBeat,
  type RefusedBy,
  type SessionEffect,
  type SessionEvent,
  type SessionState,
  step,
} from './machine.js';
import type { ClientPublisher } from './publishing/client-publisher.js';
import { connectedFrame, errorFrame, receiptFrame } from './reply-frames.js';

const NOBODY: Login = {
  access: {
    org: '',
    principal: '',
    kind: 'user',
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
  readonly #queue: OutboundQueue;
  #connectReader: ConnectReader | null = new ConnectReader((frame) => this.#step({ type: 'frame', frame }));
  #state: SessionState = CONNECTING;
  #version: StompVersion = '1.2';
  #sendMs: number | null = null;
  #refusedBy: RefusedBy = 'error';
  #asksRights = false;
  #login: Login = NOBODY;
  #loginTimer: Timer | null;
  /** Null before the login. The parser and the publisher stay until the end, `#connected` only until DISCONNECT. */
  #parser: FrameParser | null = null;
  #limit: EventLimit | null = null;
  #publisher: ClientPublisher | null = null;
  #connected: ConnectedSession | null = null;

  constructor(id: number, channel: Channel, context: SessionContext<Session>) {
    const { clock, scheduler, metrics, outboundBytes } = context;
    this.id = id;
    this.remote = channel.remote;
    this.#channel = channel;
    this.#context = context;
    this.#queue = new OutboundQueue(channel, scheduler, metrics, outboundBytes, {
      wrote: () => this.#connected?.heartBeat.wrote(),
      slow: () => this.#slow(),
    });
    this.#loginTimer = clock.after(FABRIC_LIMITS.loginMs, () => this.#step({ type: 'login_timeout' }));
  }

  /** How long the client waits for the receipt of an event, if it has said so (`send-timeout`). */
  get sendMs(): number | null {
    return this.#sendMs;
  }

  get access(): EventAccess {
    return this.#login.access;
  }

  /** Logged in, and DISCONNECT has not come. */
  get isConnected(): boolean {
    return this.#state.kind === 'connected';
  }

  get version(): StompVersion {
    return this.#version;
  }

  /** Bytes that wait for the client to read them. */
  get queued(): number {
    return this.#queue.bytes;
  }

  get subscriptions(): number {
    return this.#connected?.subscriptions.size ?? 0;
  }

  /** Ends it with an ERROR. */
  cut(error: MusterError): void {
    this.#step({ type: 'cut', error });
  }

  /** Ends it at once; bytes that were received and not parsed are lost. */
  destroy(): void {
    this.#step({ type: 'destroyed' });
  }

  /** Whether that revocation is about its login. */
  concerns({ org, principal, before }: Revoked): boolean {
    const { access, stamp } = this.#login;
    if (org !== access.org || (principal !== null && principal !== access.principal)) return false;
    return before === undefined || stamp === undefined || stamp < before;
  }

  /** Tells a relay that the rights of a login have changed. */
  revoked(revoked: Revoked): void {
    const { relay, org } = this.access;
    if (relay && org === revoked.org) this.#connected?.logins.revoked(revoked);
  }

  /** The grounds of its login, for judging it again. */
  get grounds(): string {
    return this.#login.grounds;
  }

  /** Its login was judged again: it goes on if its rights are the same as before. */
  renewed(login: Login): void {
    if (JSON.stringify(login.access) === JSON.stringify(this.access)) this.#login = login;
    else this.cut(new MusterError('event_revoked', { principal: this.access.principal }));
  }

  /** Tells a relay that it may have missed revocations, and must have the logins of its clients judged again. */
  askToRenew(): void {
    if (this.access.relay) this.#connected?.logins.renew();
  }

  /** Tells its subscriptions that events may be missing here. */
  gap(): void {
    this.#connected?.subscriptions.gap();
  }

  data(bytes: Uint8Array): void {
    this.#context.metrics.bytesIn += bytes.length;
    if (!this.#context.mayRead(this)) return;
    switch (this.#state.kind) {
      case 'connecting':
      case 'authenticating':
        return this.#reading(() => this.#connectReader?.read(bytes));
      case 'connected':
        this.#connected?.heartBeat.heard();
        this.#connected?.sendHandler.readingFrom(bytes);
        this.#reading(() => this.#parser?.push(bytes));
    }
  }

  drained(): void {
    this.#queue.drained();
  }

  closed(): void {
    this.#step({ type: 'channel_closed' });
    this.#context.closed(this);
  }

  #reading(read: () => unknown): void {
    try {
      read();
    } catch (error) {
      const shown = this.#limit === null ? error : connectedClientError(error, this.#limit);
      this.#fail(shown, this.#parser?.receipt ?? null);
    }
  }

  #frame(raw: RawFrame): void {
    if (this.#state.kind !== 'connected') return this.#parser?.stop();
    try {
      // Most frames are SENDs, which never change the state of a connected session.
      if (raw.command === 'SEND') this.#connected?.sendHandler.send(raw);
      else this.#step({ type: 'frame', frame: raw.frame() });
    } catch (error) {
      this.#refuse(error, raw.header('receipt') ?? null, null);
      // Of a transaction either all frames are carried out, or none.
      const transaction = raw.header('transaction');
      if (transaction !== undefined) this.#connected?.abandon(transaction);
    }
  }

  /**
   * A frame is refused. That ends the connection, but not that of a relay, or of a client with `refusals:message`: a
   * mistake of one client of a relay must not disturb the others.
   * @param subscription Id of the subscription that cannot go on, if the refusal is about one.
   */
  #refuse(error: unknown, receipt: string | null, subscription: string | null): void {
    const { access } = this;
    const goesOn = this.isConnected && (access.relay || this.#refusedBy === 'message');
    if (!(error instanceof MusterError) || !goesOn) return this.#fail(error, receipt);
    // Whoever may go on after a mistake may make many: at `info` they would fill the log.
    this.#context.log.debug({ remote: this.remote, principal: access.principal, code: error.code }, error.message);
    this.#queue.send(refusalFrame(error, { receipt, subscription }, this.#version));
    if (subscription !== null) this.#connected?.subscriptions.drop(subscription);
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
      case 'stop_login_timer':
        this.#loginTimer?.cancel();
        this.#loginTimer = null;
        return;
      case 'authenticate':
        this.#version = effect.version;
        this.#refusedBy = effect.refusedBy;
        this.#sendMs = effect.sendMs;
        this.#asksRights = effect.asksRights;
        return this.#authenticate(effect.login, effect.passcode);
      case 'connected':
        return this.#enterConnected(effect.heartBeat);
      case 'execute':
        return this.#connected?.execute(effect.frame);
      case 'settle':
        if (this.#publisher?.isSettled !== false) this.#step({ type: 'settled' });
        return;
      case 'receipt':
        return this.#queue.send(receiptFrame(effect.id, [], this.#version));
      case 'error':
        return this.#queue.sendLast(errorFrame(effect.error, effect.receipt, this.#version));
      case 'release':
        this.#connected?.end();
        this.#connected = null;
        return;
      case 'end':
        this.#queue.flush();
        this.#queue.close();
        return this.#channel.end();
      case 'destroy':
        this.#queue.close();
        return this.#channel.destroy();
    }
  }

  #authenticate(login: string, passcode: string): void {
    const { broker, metrics } = this.#context;
    this.#channel.pause();
    broker.login(login, passcode, this.remote).then(
      (granted) => {
        if (this.#state.kind !== 'authenticating') return;
        this.#login = granted;
        this.#step({ type: 'accepted' });
      },
      (error: unknown) => {
        metrics.loginsRefused += 1;
        this.#fail(error, null);
      },
    );
  }

  #enterConnected(heartBeat: HeartBeat): void {
    const { log, metrics, rules, server } = this.#context;
    const limit = this.#context.eventLimit();
    const { bytes: eventBytes } = limit;
    const { id, access } = this;
    const version = this.#version;
    this.#parser = new FrameParser(parserLimits(eventBytes), { frame: (raw) => this.#frame(raw) });
    this.#parser.version = version;
    this.#limit = limit;
    this.#connected = new ConnectedSession({
      context: this.#context,
      channel: this.#channel,
      queue: this.#queue,
      login: this.#login,
      eventBytes,
      version,
      heartBeat,
      receipt: (receipt, more) => this.#queue.send(receiptFrame(receipt, more, version)),
      refused: (error, receipt, subscription) => this.#refuse(error, receipt, subscription),
      settled: () => this.#step({ type: 'settled' }),
      silent: () => {
        metrics.silent += 1;
        log.info({ remote: this.remote, principal: access.principal }, 'an event client fell silent');
        this.destroy();
      },
      expired: () => this.cut(new MusterError('event_login_expired', { principal: access.principal })),
    });
    this.#publisher = this.#connected.publisher;
    const follow = this.#asksRights ? access.subscribe : null;
    this.#queue.send(
      connectedFrame({ version, server, session: id, idleMs: rules.idleMs, access, eventBytes, follow }),
    );
    this.#context.opened(this);
    this.#channel.resume();
    const early = this.#connectReader?.pipelined;
    this.#connectReader = null;
    if (early !== undefined && early.length > 0) this.data(early);
  }

  #slow(): void {
    const { log, metrics, outboundBytes: limit } = this.#context;
    metrics.slowDisconnects += 1;
    log.warn({ remote: this.remote, principal: this.access.principal, limit }, 'an event client reads too slowly');
    this.cut(new MusterError('event_slow_client', { limit }));
  }
}
