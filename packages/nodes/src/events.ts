import type { Organization } from '@muster/platform/auth';
import type { Recordable } from '@muster/platform/log';
import { NODE_EVENTS } from './event-types.js';
import type { FactChanges } from './fact-changes.js';
import type { KnownNode } from './known-node.js';

/** What changes of a node are told as. */

/** It is up now, or down. `more`: what layers above say of it. */
export function statusChanged(
  { org, name, status, reason }: KnownNode,
  more: Readonly<Record<string, string>>,
): Recordable {
  return NODE_EVENTS.tell(`node.${status}`, org, { node: name, ...more }, { reason });
}

export function created({ org, name }: KnownNode): Recordable {
  return NODE_EVENTS.tell('node.created', org, { node: name }, {});
}

export function removed({ org, name }: KnownNode): Recordable {
  return NODE_EVENTS.tell('node.removed', org, { node: name }, {});
}

export function factsChanged({ org, name, facts, labels }: KnownNode): Recordable {
  return NODE_EVENTS.tell('node.facts', org, { node: name }, { facts, labels });
}

/** Its own history; see `historyOf`. */
export function historySubject(org: Organization, name: string): string {
  return `node/${org.id}/${name}`;
}

export function factsDiffer({ org, name }: KnownNode, { changes, omitted }: FactChanges): Recordable {
  const subject = historySubject(org, name);
  return NODE_EVENTS.tell('node.facts_changed', org, { node: name }, { changes, omitted }, subject);
}

export function restarted({ org, name, lastEnd, incarnation }: KnownNode): Recordable {
  const end = lastEnd === null ? {} : { end: lastEnd };
  return NODE_EVENTS.tell('node.restarted', org, { node: name, ...end }, { incarnation });
}

export function protocolChanged({ org, name, dialect }: KnownNode): Recordable {
  return NODE_EVENTS.tell('node.protocol', org, { node: name, dialect: dialect ?? 'unknown' }, {});
}

export function keyChanged({ org, name }: KnownNode, fingerprint: string): Recordable {
  return NODE_EVENTS.tell('node.key', org, { node: name }, { fingerprint });
}
