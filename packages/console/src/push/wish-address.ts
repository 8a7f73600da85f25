import type { Parameters } from '../route.js';
import { namesIn, type Where, type Wish } from './wish.js';

/** A wish in the address of its screen, so that it can be sent to somebody, and found again. Pure. */

/** Of parameters that every server and proxy takes; more names than fit are left out. */
const MOST_NAMES = 4000;

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

/** All parameters of the screen; null: without it. */
export function addressOf({ where, maxFailures: failures, wait, ...texts }: Wish): Parameters {
  return { ...NOWHERE, ...addressOfWhere(where), ...texts, failures, wait: wait ? 'true' : null };
}

const NOWHERE = { q: null, nodes: null, group: null, from: null, statuses: null, result: null };

function addressOfWhere(where: Where): Parameters {
  switch (where.by) {
    case 'search':
      return { q: where.query };
    case 'nodes': {
      const nodes = namesIn(where.names).join(',');
      return nodes.length > MOST_NAMES ? {} : { nodes };
    }
    case 'group':
      return { group: where.group };
    case 'job':
      return { from: where.id, statuses: where.statuses.join(',') };
  }
}
