import { escapeHeader, type NewEvent, type Origin, originOf, textOf, unescapeHeader } from '@muster/fabric';
import { type EventContent, frameEvent } from './event-chunk.js';
import { assertFollowers } from './followers.js';
import type { Recordable } from './log-rows.js';
import type { AttributesOf, DataOf, EventType } from './schemas.js';
import type { Organization } from './types.js';

/** The source of what Muster itself tells. That of everybody else begins with an organization. */
export const MUSTER = 'muster';

const OWN = { source: MUSTER, kind: 'server' } as const;

/** The same for every event of an organization, as long as it is the same object. */
const origins = new WeakMap<Organization, Origin>();

/** What Muster tells. `subject`: whose feed shows it, such as `push/ID`; null: no feed does. */
export function ownEvent<T extends EventType>(
  type: T,
  organization: Organization,
  attributes: AttributesOf<T>,
  data: DataOf<T>,
  subject: string | null = null,
): Recordable {
  return encodeEvent(type, organization, attributes, data, subject);
}

export function encodeEvent(
  type: string,
  organization: Organization,
  attributes: Readonly<Record<string, unknown>>,
  data: object,
  subject: string | null = null,
): Recordable {
  assertFollowers(type);
  let lines = `${TYPE}${type}\n`;
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) lines += `${name}:${typeof value === 'string' ? written(value) : value}\n`;
  }
  lines += 'content-type:application/json\n';
  const frame = frameEvent(OWN, lines, JSON.stringify(data));
  const { bytes, linesStart, linesEnd, bodyStart, bodyEnd } = frame;
  const event: NewEvent = { origin: originFor(organization), bytes, linesStart, linesEnd, bodyStart, bodyEnd };
  return { orgId: organization.id, subject, event, frame };
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
