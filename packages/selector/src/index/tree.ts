import { LIMITS } from '../limits.js';
import { type TextAttributes, textAttribute } from '../text.js';
import { appended } from './append.js';
import { attributeToTellApart } from './choose.js';
import { IntervalTree } from './interval-tree.js';
import { type Pin, type Pins, places } from './pins.js';
import { PrefixTree } from './prefix-tree.js';

/**
 * A decision tree over clauses. A bucket lists a few clauses, which are evaluated one by one; when there are more, it
 * tells them apart by an attribute, in a table from values of that attribute to buckets, and so on below. So no value
 * that many clauses have in common is hot for long: its bucket asks for another attribute.
 */

/** A clause in the tree: in one bucket for each combination of the values its pins allow. */
export class Clause<Owner> {
  readonly owner: Owner;
  readonly pins: Pins;
  /** A linked list: there are many clauses, and most are in one or two places. */
  place: Place<Owner> | null = null;

  constructor(owner: Owner, pins: Pins) {
    this.owner = owner;
    this.pins = pins;
  }

  pin(attribute: string): Pin | undefined {
    for (const pin of this.pins) if (pin.attribute === attribute) return pin;
    return undefined;
  }

  /** From all its places. */
  remove(): void {
    for (let { place } = this as Clause<Owner>; place !== null; place = place.next) place.bucket.remove(place);
    this.place = null;
  }

  /** Takes a place off the list. */
  leave(place: Place<Owner>): void {
    if (this.place === place) {
      this.place = place.next;
      return;
    }
    for (let at = this.place; at !== null; at = at.next) if (at.next === place) at.next = place.next;
  }
}

interface Place<Owner> {
  readonly clause: Clause<Owner>;
  readonly bucket: Bucket<Owner>;
  /** In the list of the bucket. */
  position: number;
  /** Of the same clause. */
  next: Place<Owner> | null;
}

/** What leads from a table to a bucket: the pin, or one of its values. */
type Key = string | number | Exclude<Pin, { readonly kind: 'values' }>;

/** What goes through the tree with an event. */
export interface Search<Owner> {
  readonly event: TextAttributes;
  found(owner: Owner): void;
}

const NONE: never[] = [];

export class Bucket<Owner> {
  readonly table: Table<Owner> | null;
  /** In the table. */
  readonly key: Key | null;
  list: Place<Owner>[] = NONE;
  tables: Table<Owner>[] = NONE;
  /** Places in this bucket and below. */
  size = 0;
  /** The length of the list at which to look for an attribute again. */
  #splitAt: number = LIMITS.indexList;

  constructor(table: Table<Owner> | null, key: Key | null) {
    this.table = table;
    this.key = key;
  }

  add(clause: Clause<Owner>): void {
    const table = this.#tableFor(clause);
    if (table !== null) {
      table.add(clause);
      return;
    }
    const place = { clause, bucket: this, position: this.list.length, next: clause.place };
    this.list = appended(this.list, place);
    clause.place = place;
    this.#grow(1);
    if (this.list.length >= this.#splitAt) this.#split();
  }

  remove(place: Place<Owner>): void {
    const last = this.list.pop();
    if (last !== undefined && last !== place) {
      this.list[place.position] = last;
      last.position = place.position;
    }
    this.#grow(-1);
    this.#prune();
  }

  visit(search: Search<Owner>): void {
    for (const { clause } of this.list) search.found(clause.owner);
    for (const table of this.tables) table.visit(search);
  }

  /** Attributes by which clauses here are already told apart. */
  get depth(): number {
    return this.table === null ? 0 : this.table.bucket.depth + 1;
  }

  /** In how many places the clause may still be put here: it is already in as many as its pins on the way multiply to. */
  room(clause: Clause<Owner>): number {
    let room: number = LIMITS.indexPlaces;
    for (let table = this.table; table !== null; table = table.bucket.table) {
      const pin = clause.pin(table.attribute);
      if (pin !== undefined) room /= Math.max(1, places(pin));
    }
    return room;
  }

  /** Whether clauses here are already told apart by the attribute. */
  uses(attribute: string): boolean {
    for (let table = this.table; table !== null; table = table.bucket.table) {
      if (table.attribute === attribute) return true;
    }
    return false;
  }

  /** Of the attributes that clauses are told apart by here, that on which the fewest others are like this one. */
  #tableFor(clause: Clause<Owner>): Table<Owner> | null {
    let best: Table<Owner> | null = null;
    let fewest = Infinity;
    for (const table of this.tables) {
      const pin = clause.pin(table.attribute);
      if (pin === undefined || places(pin) > this.room(clause)) continue;
      const alike = table.alike(pin);
      if (alike < fewest) [best, fewest] = [table, alike];
    }
    return best;
  }

  #split(): void {
    for (;;) {
      const attribute = this.depth < LIMITS.indexDepth ? attributeToTellApart(this) : null;
      if (attribute === null) break;
      this.#tellApart(attribute);
      if (this.list.length < LIMITS.indexList) break;
    }
    // Looked at again when there are twice as many, so that looking costs each clause a constant share.
    this.#splitAt = Math.max(LIMITS.indexList, this.list.length * 2);
  }

  #tellApart(attribute: string): void {
    const table = new Table(this, attribute);
    this.tables = appended(this.tables, table);
    const all = this.list;
    this.list = [];
    const moving: Clause<Owner>[] = [];
    for (const place of all) {
      const { clause } = place;
      const pin = clause.pin(attribute);
      if (pin === undefined || places(pin) > this.room(clause)) {
        place.position = this.list.length;
        this.list.push(place);
      } else {
        clause.leave(place);
        moving.push(clause);
      }
    }
    this.#grow(-moving.length);
    for (const clause of moving) table.add(clause);
  }

  #grow(by: number): void {
    this.size += by;
    for (let { table } = this as Bucket<Owner>; table !== null; table = table.bucket.table) {
      table.size += by;
      table.bucket.size += by;
    }
  }

  /** What is empty is taken out of what it is in. */
  #prune(): void {
    if (this.size > 0) return;
    this.#splitAt = LIMITS.indexList;
    if (this.table === null || this.key === null) return;
    const { bucket } = this.table;
    this.table.drop(this.key);
    if (this.table.size === 0) bucket.tables.splice(bucket.tables.indexOf(this.table), 1);
    bucket.#prune();
  }
}

/** The buckets below one, by what clauses ask of one attribute. */
export class Table<Owner> {
  readonly bucket: Bucket<Owner>;
  readonly attribute: string;
  /** Places in all of its buckets. */
  size = 0;
  readonly #values = new Map<string | number, Bucket<Owner>>();
  /** Keys of the map that are numbers. */
  #numbers = 0;
  #intervals: IntervalTree<Bucket<Owner>> | null = null;
  #prefixes: PrefixTree<Bucket<Owner>> | null = null;
  #present: Bucket<Owner> | null = null;

  constructor(bucket: Bucket<Owner>, attribute: string) {
    this.bucket = bucket;
    this.attribute = attribute;
  }

  add(clause: Clause<Owner>): void {
    const pin = clause.pin(this.attribute);
    if (pin === undefined) return;
    if (pin.kind === 'values') for (const value of pin.values) (this.#get(value) ?? this.#set(value)).add(clause);
    else (this.#get(pin) ?? this.#set(pin)).add(clause);
  }

  drop(key: Key): void {
    if (typeof key === 'string') this.#values.delete(key);
    else if (typeof key === 'number') {
      this.#values.delete(key);
      this.#numbers -= 1;
    } else if (key.kind === 'present') this.#present = null;
    else if (key.kind === 'prefix') this.#prefixes?.delete(key.prefix);
    else this.#intervals?.delete(key.low, key.high);
  }

  /** How many places an event may find besides that of a clause with this pin. */
  alike(pin: Pin): number {
    if (pin.kind !== 'values') return this.size;
    let alike = 0;
    for (const value of pin.values) alike += this.#values.get(value)?.size ?? 0;
    return alike;
  }

  visit(search: Search<Owner>): void {
    const text = search.event.get(this.attribute);
    if (text === undefined) return;
    this.#values.get(text)?.visit(search);
    if (this.#numbers > 0 || this.#intervals !== null) {
      const number = textAttribute(text);
      if (typeof number === 'number') {
        if (this.#numbers > 0) this.#values.get(number)?.visit(search);
        this.#intervals?.visit(number, search, visitBucket);
      }
    }
    this.#prefixes?.visit(text, search, visitBucket);
    this.#present?.visit(search);
  }

  #get(key: Key): Bucket<Owner> | null | undefined {
    if (typeof key !== 'object') return this.#values.get(key);
    if (key.kind === 'present') return this.#present;
    return key.kind === 'prefix' ? this.#prefixes?.get(key.prefix) : this.#intervals?.get(key.low, key.high);
  }

  #set(key: Key): Bucket<Owner> {
    const bucket = new Bucket(this, key);
    if (typeof key === 'number') this.#numbers += 1;
    if (typeof key !== 'object') this.#values.set(key, bucket);
    else if (key.kind === 'present') this.#present = bucket;
    else if (key.kind === 'prefix') {
      this.#prefixes ??= new PrefixTree();
      this.#prefixes.set(key.prefix, bucket);
    } else {
      this.#intervals ??= new IntervalTree();
      this.#intervals.add(key.low, key.high, bucket);
    }
    return bucket;
  }
}

function visitBucket<Owner>(bucket: Bucket<Owner>, search: Search<Owner>): void {
  bucket.visit(search);
}
