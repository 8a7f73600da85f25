import {
  bodyOf,
  type Headers,
  linesOf,
  type NewEvent,
  newEventOf,
  originOf,
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
  type: 'text',
  at: 'integer',
  seq: 'integer',
  created_at: 'integer',
  lines: 'bytes',
  body: 'bytes',
});

export function scheduledRow(
  event: NewEvent,
  about: Pick<ScheduledRow, 'id' | 'org_id' | 'at' | 'seq' | 'created_at'>,
): ScheduledRow {
  const lines = linesOf(event);
  const type = headersOf(lines).find(([name]) => name === 'type')?.[1] ?? '';
  return { ...about, source: event.origin.source, type, lines, body: bodyOf(event) };
}

/** What was scheduled, as it is published when it is due. */
export function eventOf({ source, lines, body }: ScheduledRow): NewEvent {
  return newEventOf(originOf(source.slice(0, source.indexOf('/')), source), lines, body);
}

export function scheduledEvent({ id, type, source, at, created_at, lines, body }: ScheduledRow): ScheduledEvent {
  return { id, type, source, at, createdAt: created_at, attributes: headersOf(lines), size: body.length };
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
