import {
  bodyOf,
  type Headers,
  linesOf,
  type NewEvent,
  newEventOf,
  originOf,
  type PrincipalKind,
  textOf,
  unescapeHeader,
} from '@muster/fabric';
import { insert, type Schema, type Write } from '@muster/store';
import type { Selectable } from 'kysely';

export type ScheduledRow = Selectable<Schema['scheduled_events']>;

/** A future event, as those who may see it are shown it. */
export interface ScheduledEvent {
  readonly id: string;
  readonly type: string;
  /** `ORG/NAME` */
  readonly source: string;
  /** A user may have the name of a node or a service. */
  readonly kind: PrincipalKind;
  /** When it is due; this and `createdAt` in milliseconds since the epoch. */
  readonly at: number;
  readonly createdAt: number;
  /** In the publisher's order, `type` among them. */
  readonly attributes: Headers;
  /** Bytes of the body. */
  readonly size: number;
}

export const scheduleWrite: (row: ScheduledRow) => Write = insert('scheduled_events', {
  id: 'text',
  org_id: 'text',
  source: 'text',
  kind: 'text',
  type: 'text',
  at: 'integer',
  seq: 'integer',
  created_at: 'integer',
  lines: 'bytes',
  body: 'bytes',
});

export function scheduledRow(
  event: NewEvent,
  atMs: number,
  about: Pick<ScheduledRow, 'id' | 'org_id' | 'seq' | 'created_at'>,
): ScheduledRow {
  const lines = linesOf(event);
  const type = headersOf(lines).find(([name]) => name === 'type')?.[1] ?? '';
  const { source, kind } = event.origin;
  if (kind === 'server') throw new Error('what the server tells is never a future event');
  return { ...about, source, kind, type, at: atMs, lines, body: bodyOf(event) };
}

/** What was scheduled, as it is published when it is due. */
export function eventOf({ source, kind, lines, body }: ScheduledRow): NewEvent {
  return newEventOf(originOf(source.slice(0, source.indexOf('/')), source, kind), lines, body);
}

export function scheduledEvent(row: ScheduledRow): ScheduledEvent {
  const { id, type, source, kind, at, created_at: createdAt, lines, body } = row;
  return { id, type, source, kind, at, createdAt, attributes: headersOf(lines), size: body.length };
}

function headersOf(lines: Uint8Array): Headers {
  return textOf(lines, 0, lines.length)
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const colon = line.indexOf(':');
      return [unescapeHeader(line.slice(0, colon), '1.2'), unescapeHeader(line.slice(colon + 1), '1.2')] as const;
    });
}
