import { type LoggedEvent, newEvent, originOf, stamp, textOf } from '@muster/fabric';
import type { Store } from '@muster/store';
import type { Organization } from '../../src/auth/types.js';
import { readEvents } from '../../src/log/event-chunk.js';
import type { Recordable } from '../../src/log/log-rows.js';

export const ORG: Organization = { id: 'a'.repeat(32), name: 'acme' };
export const OTHER: Organization = { id: 'b'.repeat(32), name: 'other' };

/** An event of somebody, as small as they come. */
export function something(
  type: string,
  { org = ORG, subject = null, body = '' }: { org?: Organization; subject?: string | null; body?: string } = {},
): Recordable {
  const event = newEvent(originOf(org.name, `${org.name}/alice`, 'user'), [['type', type]], Buffer.from(body));
  return { orgId: org.id, subject, event };
}

export interface ShownEvent {
  readonly type: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly data: unknown;
}

/** Everything in the log, in the order of positions. */
export async function loggedEvents(store: Store): Promise<(ShownEvent & { position: number; orgId: string })[]> {
  const rows = await store.read.selectFrom('event_log').select(['org_id', 'floor', 'frames']).execute();
  return rows
    .flatMap(({ org_id: orgId, ...row }) =>
      readEvents(row).map(({ position, bytes, linesStart, linesEnd, bodyStart, bodyEnd }) => {
        const lines = textOf(bytes, linesStart, linesEnd).split('\n').slice(0, -1);
        const { type = '', ...attributes } = Object.fromEntries(
          lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
        );
        const body = textOf(bytes, bodyStart, bodyEnd);
        const json = attributes['content-type'] === 'application/json';
        delete attributes['content-type'];
        return { position, orgId, type, attributes, data: json ? JSON.parse(body) : body };
      }),
    )
    .sort((a, b) => a.position - b.position);
}

export const tailOf = (event: LoggedEvent): string => {
  const tail = stamp(event);
  return textOf(tail, 0, tail.length);
};

export const typeOf = (event: LoggedEvent): string => /\ntype:(.*)\n/.exec(tailOf(event))?.[1] ?? '';
