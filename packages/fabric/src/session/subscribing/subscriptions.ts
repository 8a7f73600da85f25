import { and, type Expression } from '@muster/selector';
import { MusterError } from '../../errors.js';
import { type EventAccess, grantee } from '../../event/access.js';
import { EVENTS_DESTINATION } from '../../event/tail.js';
import type { Hub } from '../../hub/hub.js';
import { FABRIC_LIMITS } from '../../limits.js';
import { HOLD, RELEASE } from '../../protocol/hold.js';
import { type Frame, header } from '../../stomp/frame.js';
import type { Replay, ReplayRequest } from '../broker.js';
import { checkOnBehalf, onBehalfKind } from '../on-behalf.js';
import type { Transactions } from '../transactions.js';
import {
  ackModeOf,
  checkPatient,
  durableOf,
  fromOf,
  isForgotten,
  needed,
  selectorOf,
  slowPolicyOf,
  wrongValue,
} from './subscribe-headers.js';
import { allowedEvents, allowedTypes, deniedTypes, isNarrowed } from './subscribe-rights.js';
import { Subscription, type SubscriptionPorts } from './subscription.js';

export interface SubscriptionsPorts extends SubscriptionPorts {
  readonly access: EventAccess;
  readonly transactions: Transactions;
  /** Where plain subscriptions are kept. */
  readonly hub: Hub;
  replay(request: ReplayRequest): Replay;
}

/**
 * The subscriptions of one session: handles SUBSCRIBE, UNSUBSCRIBE, ACK and NACK. What is wrong with a frame is thrown
 * as a MusterError.
 */
export class Subscriptions {
  readonly #ports: SubscriptionsPorts;
  /** What this login may follow; null: nothing. */
  readonly #allowed: Expression | null;
  /** Without those events that are allowed one by one: many logins have the same, and it costs less for each event. */
  readonly #allowedTypes: Expression | null;
  /** B-3: each client has its own. */
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #byNumber = new Map<number, Subscription>();
  #made = 0;

  constructor(ports: SubscriptionsPorts) {
    this.#ports = ports;
    this.#allowed = allowedEvents(ports.access.subscribe);
    this.#allowedTypes = allowedTypes(ports.access.subscribe);
  }

  get size(): number {
    return this.#subscriptions.size;
  }

  subscribe(frame: Frame): void {
    const { access, version, metrics } = this.#ports;
    const destination = needed(frame, 'destination');
    if (destination !== EVENTS_DESTINATION) {
      throw new MusterError('stomp_destination', { command: 'SUBSCRIBE', destination });
    }
    const id = header(frame, 'id') ?? (version === '1.0' ? destination : needed(frame, 'id'));
    if (this.#subscriptions.has(id)) throw new MusterError('stomp_subscription_exists', { id });
    const limit = FABRIC_LIMITS.subscriptionsPerClient;
    if (this.#subscriptions.size >= limit) {
      throw new MusterError('stomp_too_many', { command: 'SUBSCRIBE', what: 'subscriptions', limit });
    }
    const mode = ackModeOf(frame);
    const slow = slowPolicyOf(frame);
    const { selector, narrowed } = this.#selector(frame);
    const onBehalf = header(frame, 'on-behalf');
    if (onBehalf !== undefined) checkOnBehalf('SUBSCRIBE', onBehalf, access.org, access.relay);
    const durable = durableOf(frame, mode);
    const kind =
      onBehalf === undefined || durable === null
        ? access.kind
        : onBehalfKind('SUBSCRIBE', header(frame, 'on-behalf-kind'));
    const from = fromOf(frame);
    const receipt = header(frame, 'receipt') ?? null;
    if (from !== null || durable !== null) checkPatient(frame);

    this.#made += 1;
    const subscription = new Subscription(id, this.#made, mode, slow, this.#ports);
    if (narrowed) subscription.narrowedReceipt = receipt;
    this.#subscriptions.set(id, subscription);
    this.#byNumber.set(subscription.number, subscription);
    metrics.subscribed += 1;
    if (from === null && durable === null) {
      const { hub } = this.#ports;
      subscription.attachToHub(hub, hub.add(selector, subscription));
      if (receipt !== null) subscription.receipt(receipt);
      return;
    }
    subscription.attachToReplay(
      this.#ports.replay({
        subscriber: subscription,
        principal: onBehalf ?? access.principal,
        kind,
        org: access.org,
        selector,
        selectorText: header(frame, 'selector') ?? '',
        from,
        fromText: header(frame, 'from') ?? null,
        durable,
        ack: mode,
        receipt,
      }),
      durable,
    );
  }

  unsubscribe(frame: Frame): void {
    const id = header(frame, 'id') ?? needed(frame, this.#ports.version === '1.0' ? 'destination' : 'id');
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) throw new MusterError('stomp_subscription_missing', { command: 'UNSUBSCRIBE', id });
    const forget = isForgotten(frame, subscription);
    this.#subscriptions.delete(id);
    this.#byNumber.delete(subscription.number);
    const receipt = header(frame, 'receipt') ?? null;
    subscription.end(forget, forget ? receipt : null);
    if (receipt !== null && !forget) this.#ports.receipt(receipt);
  }

  /** A relay has no room for more of a replay (SEND to `/muster/hold`). */
  hold(frame: Frame): void {
    const subscription = this.#ofRelay(frame, HOLD);
    const after = needed(frame, 'after');
    if (!/^\d{1,15}$/.test(after)) throw wrongValue(frame, 'after', 'must be a position');
    const receipt = header(frame, 'receipt') ?? null;
    if (subscription?.replay != null) subscription.hold(Number(after), receipt);
    else if (receipt !== null) this.#ports.receipt(receipt);
  }

  /** It has room again (SEND to `/muster/release`). */
  release(frame: Frame): void {
    this.#ofRelay(frame, RELEASE)?.release();
  }

  /** Undefined: the subscription has ended meanwhile, which the relay will have been told. */
  #ofRelay(frame: Frame, destination: string): Subscription | undefined {
    if (!this.#ports.access.relay) throw new MusterError('stomp_relays_only', { what: destination });
    return this.#subscriptions.get(needed(frame, 'subscription'));
  }

  /** Ends a subscription that cannot go on. The progress of a durable one is kept. */
  drop(id: string): void {
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) return;
    this.#subscriptions.delete(id);
    this.#byNumber.delete(subscription.number);
    subscription.end(false, null);
  }

  /** Tells every subscription that events may be missing at this point. */
  gap(): void {
    for (const subscription of this.#subscriptions.values()) subscription.gap();
  }

  /** ACK and NACK. */
  acknowledge(frame: Frame): void {
    const { transactions } = this.#ports;
    const receipt = header(frame, 'receipt') ?? null;
    const transaction = header(frame, 'transaction');
    const [subscription, position] = this.#acknowledgedMessage(frame);
    const answer = (id: string | null) => this.#settle(frame.command, subscription, position, id);
    if (transaction === undefined) return answer(receipt);
    transactions.add(frame.command, transaction, answer);
    if (receipt !== null) this.#ports.receipt(receipt);
  }

  /** The session is over. The progress of durable subscriptions is kept. */
  clear(): void {
    for (const subscription of this.#subscriptions.values()) subscription.end(false, null);
    this.#subscriptions.clear();
    this.#byNumber.clear();
  }

  /**
   * The selector that was asked for, restricted to what this login may follow. `narrowed`: that makes a
   * difference.
   */
  #selector(frame: Frame): { readonly selector: Expression; readonly narrowed: boolean } {
    const { access, metrics } = this.#ports;
    try {
      const asked = selectorOf(frame);
      const denied = deniedTypes(asked, access.subscribe);
      if (this.#allowed !== null && denied === null) {
        const { subscribe } = access;
        const own = { granted: (subscribe.owned ?? []).map(({ pattern }) => pattern), restricted: [], open: [] };
        const allowed = deniedTypes(asked, own) === null ? this.#allowed : (this.#allowedTypes ?? this.#allowed);
        return { selector: and(allowed, asked), narrowed: isNarrowed(asked, subscribe) };
      }
      const types = denied ?? ['*'];
      const type = types.map((name) => `'${name}'`).join(', ');
      const { principal, kind } = access;
      const who = grantee(principal, kind);
      throw new MusterError('event_subscribe_denied', { principal, type, pattern: types[0] ?? '*', who });
    } catch (error) {
      metrics.selectorsRefused += 1;
      throw error;
    }
  }

  #settle(command: string, subscription: Subscription | undefined, position: number, receipt: string | null): void {
    const cumulative = subscription?.mode === 'client';
    const replay = subscription?.replay ?? null;
    if (replay === null) {
      if (receipt !== null) this.#ports.receipt(receipt);
    } else if (command === 'ACK') replay.ack(position, cumulative, receipt);
    else replay.nack(position, cumulative, receipt);
  }

  /** The message that ACK or NACK names. Undefined: its subscription has ended, and nothing is to be done. */
  #acknowledgedMessage(frame: Frame): [subscription: Subscription | undefined, position: number] {
    const { command } = frame;
    const name = this.#ports.version === '1.2' ? 'id' : 'message-id';
    const text = needed(frame, name);
    const found = name === 'id' ? /^(\d{1,15})-(\d{1,16})$/.exec(text) : /^()(\d{1,16})$/.exec(text);
    const position = Number(found?.[2]);
    const number = Number(found?.[1]);
    const subscription = name === 'id' ? this.#byNumber.get(number) : this.#subscriptionOf(frame);
    if (name === 'id' && subscription === undefined && number <= this.#made && number > 0) return [undefined, 0];
    if (
      found === null ||
      subscription === undefined ||
      subscription.mode === 'auto' ||
      !subscription.delivered(position)
    ) {
      throw new MusterError('stomp_acknowledgement', { command, header: name });
    }
    return [subscription, position];
  }

  /** STOMP 1.1 names the subscription in ACK and NACK. 1.0 need not: then it is the only one that is acknowledged. */
  #subscriptionOf(frame: Frame): Subscription | undefined {
    const { command } = frame;
    const id = header(frame, 'subscription') ?? (this.#ports.version === '1.0' ? null : needed(frame, 'subscription'));
    if (id !== null) {
      const found = this.#subscriptions.get(id);
      if (found === undefined) throw new MusterError('stomp_subscription_missing', { command, id });
      return found;
    }
    const candidates = [...this.#subscriptions.values()].filter(({ mode }) => mode !== 'auto');
    if (candidates.length > 1) throw new MusterError('stomp_missing_header', { command, header: 'subscription' });
    return candidates[0];
  }
}
