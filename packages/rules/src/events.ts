import type { Recordable } from '@muster/platform/log';
import { RULE_EVENTS } from './event-types.js';
import type { Rule, Work } from './types.js';

/** What rules tell. */

export interface Occasion {
  /** Type of the event. */
  readonly event: string;
  readonly position: number;
}

const about = ({ id, name }: Rule) => ({ rule: id, name });

export function ruleEdited(what: 'changed' | 'created' | 'removed', rule: Rule, by: string): Recordable {
  return RULE_EVENTS.tell(`rule.${what}`, rule.org, { ...about(rule), by }, {});
}

export function ruleRan(rule: Rule, occasion: Occasion, kind: Work['kind'], run: string): Recordable {
  return RULE_EVENTS.tell('rule.ran', rule.org, { ...about(rule), ...occasion, kind, run }, {});
}

export function ruleFailed(rule: Rule, occasion: Occasion, reason: string): Recordable {
  return RULE_EVENTS.tell('rule.failed', rule.org, { ...about(rule), ...occasion, kind: rule.work.kind }, { reason });
}

export function ruleSkipped(rule: Rule, occasion: Occasion, why: 'calendar' | 'limit' | 'loop'): Recordable {
  return RULE_EVENTS.tell('rule.skipped', rule.org, { ...about(rule), ...occasion, why }, {});
}
