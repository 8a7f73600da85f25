import type { Parameters } from '../route.js';
import { namesIn, type Where, type Wish } from './wish.js';

/** A wish in the address of its screen, so that it can be sent to somebody, and found again. Pure. */

/** Characters that every server and proxy takes. */
const MOST_ADDRESS = 4000;

export function wishFrom(query: URLSearchParams): Wish {
  const of = (name: string): string => query.get(name) ?? '';
  return {
    where: whereFrom(query),
    command: of('command'),
    quorum: of('quorum'),
    concurrency: of('concurrency'),
    timeout: of('timeout'),
    user: of('user'),
    dir: of('dir'),
    maxFailures: of('failures'),
    wait: of('wait') === 'true',
  };
}

function whereFrom(query: URLSearchParams): Where {
  const names = query.get('nodes');
  if (names !== null) return { by: 'nodes', names: names.replaceAll(',', ' ') };
  const group = query.get('group');
  if (group !== null) return { by: 'group', group };
  const from = query.get('from');
  const statuses = query.get('statuses');
  if (from !== null && statuses !== null) {
    return { by: 'job', id: from, statuses: statuses.split(',').filter((status) => status !== '') };
  }
  return { by: 'search', query: query.get('q') ?? '' };
}

/** All parameters of the screen, with null for those that go; null: it does not fit into an address. */
export function addressOf({ where, maxFailures: failures, wait, ...texts }: Wish): Parameters | null {
  const address = { ...NOWHERE, ...addressOfWhere(where), ...texts, failures, wait: wait ? 'true' : null };
  const length = Object.values(address).reduce((sum, text) => sum + encodeURIComponent(text ?? '').length, 0);
  return length > MOST_ADDRESS ? null : address;
}

const NOWHERE = { q: null, nodes: null, group: null, from: null, statuses: null, result: null };

function addressOfWhere(where: Where): Readonly<Record<string, string>> {
  switch (where.by) {
    case 'search':
      return { q: where.query };
    case 'nodes':
      return { nodes: namesIn(where.names).join(',') };
    case 'group':
      return { group: where.group };
    case 'job':
      return { from: where.id, statuses: where.statuses.join(',') };
  }
}
