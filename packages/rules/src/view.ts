import type { Tried } from './trying.js';
import type { Rule, RuleRun } from './types.js';

const time = (ms: number): string => new Date(ms).toISOString();

/** @param queueName Of its queue by id; undefined: there is none any more. */
export function ruleView(
  {
    org,
    name,
    selector,
    work,
    atMost,
    notDuring,
    blackout,
    enabled,
    owner,
    skipped,
    createdAt,
    updatedAt,
    ...rule
  }: Rule,
  queueName: (orgId: string, queueId: string) => string | undefined,
) {
  const { runs, seconds } = atMost;
  return {
    name,
    on: selector,
    at_most: { runs, seconds },
    not_during: [...notDuring],
    blackout,
    enabled,
    asks: rule.asks,
    approval: rule.agreement?.approval ?? null,
    kind: work.kind,
    runbook:
      work.kind === 'runbook' ? { name: work.runbook, parameters: { ...work.parameters }, node: work.node } : null,
    job: work.kind === 'job' ? { ...work.request } : null,
    task: work.kind === 'task' ? { ...work.task, queue: queueName(org.id, work.queueId) ?? work.queueId } : null,
    owner: owner.name,
    skipped,
    created_at: time(createdAt),
    updated_at: time(updatedAt),
  };
}

export function runView({ at, held_until, ...run }: RuleRun) {
  return { ...run, at: time(at), held_until: held_until === null ? null : time(held_until) };
}

export function triedView({ last, ...tried }: Tried) {
  return { ...tried, last: last.map(({ at, ...one }) => ({ ...one, at: time(at) })) };
}
