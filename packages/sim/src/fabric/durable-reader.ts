import { FABRIC_LIMITS } from '@muster/fabric';
import { Violation } from '../kernel/violation.js';
import type { DurablePlan, Org } from './plan.js';
import type { Logged, Truth } from './truth.js';

export interface DurableReaderPorts {
  readonly truth: Truth;
  readonly report: (violation: Violation) => void;
  /** For the counts of what runs have reached. */
  readonly reach: (what: string) => void;
}

/** A row of the table of cursors, as far as it matters. */
export interface StoredCursor {
  readonly through: number;
  readonly acknowledged: readonly number[];
}

interface Delivered {
  /** Since the server took the subscription up, as far as the program can know. */
  times: number;
  /** It must come again. */
  refused: boolean;
  /** Refused once more while it may have been on its way: so often it may come beyond that. */
  spare: number;
  /** Acknowledged on this connection; on an earlier one it may have come to nothing. */
  acked: boolean;
}

/**
 * A durable subscription over all connections of its program, and its rules (fabric-protocol.md, "SUBSCRIBE"): what is
 * acknowledged, and confirmed, is stored and never comes again; what is not acknowledged comes again, in order, with
 * every connection; what is refused comes again, so many times; and what is stored covers nothing that the program has
 * not settled.
 */
export class DurableReader {
  readonly plan: DurablePlan;
  readonly org: Org;
  /** Nothing stands between the program and the root, so that its connection is the root's. */
  readonly #direct: boolean;
  readonly #name: string;
  readonly #ports: DurableReaderPorts;
  /** Where it begins: the first that is stored of it; null: not yet. */
  #begin: number | null = null;
  #stored: StoredCursor | null = null;
  /** Of the organization's log, how many events were compared with what is stored. */
  #comparedTo = 0;
  /** An acknowledgement was sent. */
  readonly #acked = new Set<number>();
  /** It was confirmed: this is final. */
  readonly #confirmed = new Set<number>();
  /** Refused as often as is allowed, and so given up. */
  readonly #givenUp = new Set<number>();
  /** Markers that are still to come. */
  #untold = 0;
  /** Subscribed since it was forgotten. */
  #wanted = false;
  /** In the present registration. */
  #delivered = new Map<number, Delivered>();
  /** The newest of them; null: none. */
  #highest: number | null = null;

  constructor(plan: DurablePlan, org: Org, client: string, direct: boolean, ports: DurableReaderPorts) {
    this.plan = plan;
    this.org = org;
    this.#direct = direct;
    this.#name = `${client}:${plan.name}`;
    this.#ports = ports;
  }

  get name(): string {
    return this.#name;
  }

  /** The program subscribes, or its library does with a new connection. */
  registered(): void {
    this.#wanted = true;
    if (this.#delivered.size > 0) this.#ports.reach('durable: resumed');
    this.#delivered = new Map();
    this.#highest = null;
    this.#untold = 0;
  }

  /** Its program has ended it for good: what is next of this name begins anew. */
  forgotten(): void {
    this.registered();
    this.#begin = null;
    this.#stored = null;
    this.#comparedTo = 0;
    this.#wanted = false;
    for (const settled of [this.#acked, this.#confirmed, this.#givenUp]) settled.clear();
    this.#ports.reach('durable: forgotten');
  }

  take(position: number | null, id: number, org: string, again: boolean): void {
    const { truth } = this.#ports;
    const event = position === null ? undefined : truth.at(position);
    if (event === undefined) return this.#fail('only what is logged', `position ${position}, event ${id}`);
    if (event.id !== null && event.id !== id) this.#fail('verbatim', `event ${id} at the position of ${event.id}`);
    if (org !== this.org || event.org !== this.org) this.#fail('organization', `an event of ${event.org}`);
    if (!this.#wants(event)) this.#fail('selector', `position ${event.position} for ${this.plan.selector.text}`);
    this.#deliver(event.position, again);
  }

  #deliver(position: number, again: boolean): void {
    const before = this.#delivered.get(position);
    if (this.#confirmed.has(position)) {
      this.#fail('acknowledged is final', `position ${position} comes again after its acknowledgement was confirmed`);
    }
    if (this.#begin === null) return this.#fail('stored, then served', `position ${position}, and nothing is stored`);
    if (position <= this.#begin) this.#fail('from', `position ${position}, asked for after ${this.#begin}`);
    if (again) this.#ports.reach('durable: delivered again after NACK');
    if (this.#direct) this.#checkRepetition(position, before, again);
    if (before === undefined && position > (this.#highest ?? 0)) {
      const missed = this.#unsettled(this.#highest ?? this.#begin, position);
      if (missed !== undefined) this.#fail('gapless', `position ${position}, but not ${missed.position}`);
    }
    if (before === undefined && this.#acked.has(position)) this.#ports.reach('durable: acknowledged in vain');
    const { times = 0, refused = false, spare = 0, acked = false } = before ?? {};
    const left = refused ? spare : Math.max(0, spare - 1);
    this.#delivered.set(position, { times: times + 1, refused: false, spare: left, acked });
    this.#highest = Math.max(this.#highest ?? 0, position);
  }

  /** Whoever is connected to the root gets nothing twice but what it refused, and that with a mark. */
  #checkRepetition(position: number, before: Delivered | undefined, again: boolean): void {
    const { redeliveries } = FABRIC_LIMITS;
    if (before === undefined) {
      if (again) this.#fail('redelivered', `position ${position} is marked, and comes for the first time`);
      if (position < (this.#highest ?? 0)) this.#fail('order', `position ${position} after ${this.#highest}`);
    } else if (!(before.refused || before.spare > 0) || !again) {
      this.#fail('once', `position ${position} comes again${again ? '' : ' without a mark'}, and was not refused`);
    } else if (before.times >= redeliveries) {
      this.#fail('given up', `position ${position} comes for the ${before.times + 1}th time`);
    }
  }

  /** The program acknowledges. Answers what is settled when that is confirmed. */
  acknowledge(position: number): readonly number[] {
    const meant = this.#meant(position);
    if (this.plan.ack === 'client' && meant.length > 1) this.#ports.reach('durable: acknowledged several');
    if (meant.some((each) => each !== this.#oldest())) this.#ports.reach('durable: acknowledged out of turn');
    for (const each of meant) {
      this.#acked.add(each);
      const delivered = this.#delivered.get(each);
      if (delivered !== undefined) delivered.acked = true;
    }
    return meant;
  }

  /** The program refuses. Answers what is given up when that is confirmed. */
  refuse(position: number): readonly number[] {
    this.#ports.reach('durable: refused');
    const last: number[] = [];
    for (const each of this.#meant(position)) {
      const delivered = this.#delivered.get(each);
      if (delivered === undefined) continue;
      const underWay = delivered.refused;
      if (underWay) delivered.spare += 1;
      delivered.refused = true;
      if (delivered.times + delivered.spare < FABRIC_LIMITS.redeliveries) continue;
      this.#givenUp.add(each);
      this.#untold += 1;
      if (!underWay) last.push(each);
    }
    return this.#direct ? last : [];
  }

  /** The server has said that it is saved. */
  confirmed(settled: readonly number[]): void {
    if (settled.length > 0) this.#ports.reach('durable: confirmed');
    for (const position of settled) {
      const stored = this.#stored;
      if (stored !== null && (position <= stored.through || stored.acknowledged.includes(position))) continue;
      this.#fail('confirmed is stored', `position ${position}, stored is ${shown(stored)}`);
    }
  }

  /** Nothing that was confirmed comes from now on. */
  final(settled: readonly number[]): void {
    for (const position of settled) this.#confirmed.add(position);
  }

  /** What was sent is not confirmed, and may have come to nothing. */
  unconfirmed(): void {
    this.#ports.reach('durable: acknowledgement unconfirmed');
  }

  /** A marker says that so many are missing here. */
  missed(count: number, reason: string): void {
    if (!reason.startsWith('refused') || count > this.#untold) return this.#fail('missing', `${count}: ${reason}`);
    this.#untold -= count;
    this.#ports.reach('durable: given up');
  }

  /** A transaction of the root is durable that has this row of it. */
  stored(cursor: StoredCursor): void {
    if (!this.#wanted) return this.#fail('forgotten stays so', `stored is ${shown(cursor)}`);
    const before = this.#stored;
    this.#stored = cursor;
    if (before === null) {
      this.#begin = cursor.through;
      const all = this.#ports.truth.of(this.org);
      while ((all[this.#comparedTo]?.position ?? Number.POSITIVE_INFINITY) <= cursor.through) this.#comparedTo += 1;
      if (this.plan.from === 'first' && cursor.through > 0) this.#fail('from', `it begins after ${cursor.through}`);
      return;
    }
    const kept = (position: number): boolean => position <= cursor.through || cursor.acknowledged.includes(position);
    if (cursor.through < before.through || !before.acknowledged.every(kept)) {
      this.#fail('progress', `stored was ${shown(before)}, and is ${shown(cursor)}`);
    }
    this.#compare(cursor);
  }

  /** What is stored covers nothing that is not settled: it would be lost with a restart. */
  #compare(cursor: StoredCursor): void {
    const all = this.#ports.truth.of(this.org);
    const look = (event: Logged): void => {
      if (!this.#wants(event) || this.#settled(event.position)) return;
      this.#fail(
        'unacknowledged is kept',
        `position ${event.position} is not acknowledged, stored is ${shown(cursor)}`,
      );
    };
    for (let event = all[this.#comparedTo]; event !== undefined; event = all[this.#comparedTo]) {
      if (event.position > cursor.through) break;
      look(event);
      this.#comparedTo += 1;
    }
    for (const position of cursor.acknowledged) {
      const event = this.#ports.truth.at(position);
      if (event !== undefined) look(event);
    }
    if (cursor.acknowledged.length > 0) this.#ports.reach('durable: stored out of turn');
  }

  /** What should have come, if everything has come. */
  missing(): Logged | undefined {
    if (this.#begin === null) return undefined;
    for (const [position, { refused }] of this.#delivered) {
      if (refused && !this.#settled(position)) return this.#ports.truth.at(position);
    }
    return this.#unsettled(this.#highest ?? this.#begin, Number.POSITIVE_INFINITY);
  }

  /** Whatever waits was settled, and that is stored. */
  get done(): boolean {
    return [...this.#delivered.keys()].every((position) => this.#settled(position));
  }

  #unsettled(after: number, before: number): Logged | undefined {
    for (const event of this.#ports.truth.of(this.org)) {
      if (event.position >= before) return undefined;
      if (event.position > after && this.#wants(event) && !this.#settled(event.position)) return event;
    }
    return undefined;
  }

  #settled(position: number): boolean {
    return this.#acked.has(position) || this.#givenUp.has(position);
  }

  #oldest(): number | undefined {
    for (const position of this.#delivered.keys()) if (!this.#settled(position)) return position;
    return undefined;
  }

  /** With `ack:client` an answer is for whatever came before, too. */
  #meant(position: number): number[] {
    if (this.plan.ack === 'client-individual') return [position];
    return [...this.#delivered].filter(([each, { acked }]) => each <= position && !acked).map(([each]) => each);
  }

  #wants(event: Logged): boolean {
    return event.org === this.org && this.plan.selector.holds(event.attributes) === true;
  }

  #fail(rule: string, detail: string): void {
    this.#ports.report(new Violation(rule, `${this.#name}: ${detail}`));
  }
}

function shown(cursor: StoredCursor | null): string {
  if (cursor === null) return 'nothing';
  return `through ${cursor.through}${cursor.acknowledged.map((position) => ` and ${position}`).join('')}`;
}
