import { escapeHeader, type Origin, originOf, type PrincipalKind, textOf, unescapeHeader } from '@muster/fabric';
import type { Static, TObject, TRecord } from 'typebox';
import { type EventContent, frameEvent } from './event-chunk.js';
import type { Recordable } from './log-rows.js';
import type { Organization } from './types.js';

/** The source of what Muster itself tells. That of everybody else begins with an organization. */
export const MUSTER = 'muster';

export interface EventSchema {
  /** One sentence. */
  readonly summary: string;
  /** What events are selected by. */
  readonly attributes: TObject;
  /** The body: JSON. */
  readonly data: TObject | TRecord;
  /** How many there were is kept hour by hour: of all together, or of each value of the attribute `status`. */
  readonly counted?: 'together' | 'by status';
}

/** By type. */
export type EventSchemas = Readonly<Record<string, EventSchema>>;

/** What a layer tells, and to whom. `docs/reference/events.md` is made from these. */
export interface EventFamily {
  /** What its types begin with, such as `node.`. */
  readonly prefix: string;
  /** Who may follow them: whoever may read the same over REST; null: whoever may follow what others publish. */
  readonly followers: string | null;
  /** Who besides may follow those of them that are their own; null: nobody. */
  readonly owners: EventOwners | null;
  readonly schemas: EventSchemas;
}

/** Whose an event is says one of its attributes. Only for what its owner, with the permission, may read over REST. */
export interface EventOwners {
  readonly permission: string;
  readonly attribute: string;
  /** What the attribute is of what is theirs. */
  readonly nameOf: (identity: { readonly type: PrincipalKind; readonly name: string }) => string;
}

/** The same for every event of an organization, as long as it is the same object. */
const origins = new WeakMap<Organization, Origin>();

interface Declared<S> {
  readonly prefix: string;
  readonly followers: string | null;
  readonly owners?: EventOwners | null;
  readonly schemas: S;
}

/** The events that a layer tells. There is no other way to tell one: a type that is not declared has no followers. */
export class OwnEvents<S extends EventSchemas> implements EventFamily {
  readonly prefix: string;
  readonly followers: string | null;
  readonly owners: EventOwners | null;
  readonly schemas: S;

  constructor({ prefix, followers, owners = null, schemas }: Declared<S>) {
    for (const type of Object.keys(schemas)) {
      if (!type.startsWith(prefix)) throw new Error(`events of type ${type} are not of the family ${prefix}`);
    }
    this.prefix = prefix;
    this.followers = followers;
    this.owners = owners;
    this.schemas = schemas;
  }

  /** @param subject whose feed shows it, such as `push/ID`; null: no feed does. */
  tell<T extends keyof S & string>(
    type: T,
    organization: Organization,
    attributes: Static<S[T]['attributes']>,
    data: Static<S[T]['data']>,
    subject: string | null = null,
  ): Recordable {
    return this.record(type, organization, attributes as Readonly<Record<string, unknown>>, data as object, subject);
  }

  /** The same for who tells several types alike. */
  record(
    type: keyof S & string,
    organization: Organization,
    attributes: Readonly<Record<string, unknown>>,
    data: object,
    subject: string | null = null,
  ): Recordable {
    let lines = `${TYPE}${type}\n`;
    for (const name in attributes) {
      const value = attributes[name];
      if (value !== undefined) lines += `${name}:${typeof value === 'string' ? written(value) : value}\n`;
    }
    lines += 'content-type:application/json\n';
    const frame = frameEvent(originFor(organization), lines, JSON.stringify(data));
    return { orgId: organization.id, subject, event: frame, frame };
  }
}

/** An event of Muster's own, as it was told. */
export interface OwnEvent {
  readonly type: string;
  /** All its other headers, as text. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly data: unknown;
}

/** Without reading the rest of it. The event is one of Muster's own: they begin with their type. */
export function typeOfOwn({ bytes, linesStart }: EventContent): string {
  const start = linesStart + TYPE.length;
  return textOf(bytes, start, bytes.indexOf(LF, start), true);
}

/** An attribute of it, without reading the rest; null: it has none of that name. */
export function attributeOfOwn({ bytes, linesStart, linesEnd }: EventContent, name: string): string | null {
  const line = textOf(bytes, linesStart, linesEnd - 1)
    .split('\n')
    .find((one) => one.startsWith(`${name}:`));
  return line === undefined ? null : unescapeHeader(line.slice(name.length + 1), '1.2');
}

export function readOwnEvent({ bytes, linesStart, linesEnd, bodyStart, bodyEnd }: EventContent): OwnEvent {
  const [first = '', ...others] = textOf(bytes, linesStart, linesEnd - 1).split('\n');
  const attributes: Record<string, string> = {};
  for (const line of others) {
    const colon = line.indexOf(':');
    attributes[line.slice(0, colon)] = unescapeHeader(line.slice(colon + 1), '1.2');
  }
  return { type: first.slice(TYPE.length), attributes, data: JSON.parse(textOf(bytes, bodyStart, bodyEnd)) };
}

const TYPE = 'type:';
const LF = 10;
const SPECIAL = /[\n\r:\\\0]/;

/** As it stands in a header line. No frame can express NUL there. */
function written(value: string): string {
  return SPECIAL.test(value) ? escapeHeader(value.replaceAll('\0', '\uFFFD'), '1.2') : value;
}

function originFor(organization: Organization): Origin {
  let origin = origins.get(organization);
  if (origin === undefined) {
    origin = originOf(organization.name, MUSTER, 'server');
    origins.set(organization, origin);
  }
  return origin;
}
