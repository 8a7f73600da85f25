import { setImmediate } from 'node:timers/promises';
import { Delivery, type EventLog } from '@muster/fabric';
import type { Organization } from '@muster/platform/auth';
import { compileText, parseSelector } from '@muster/selector';
import { type Blackout, blackoutText } from '@muster/tasks';
import { RULE_LIMITS } from './limits.js';
import { judge } from './machine.js';
import { fillAll, Unfilled } from './template.js';
import type { Rule, Work } from './types.js';

const PAGE = { events: 1000, bytes: 4 * 1024 * 1024 };

/** What a rule would have done. */
export interface Tried {
  /** Events that were looked at. */
  readonly events: number;
  /** Of these, those that its selector chooses. */
  readonly matched: number;
  readonly started: number;
  /** As often as it may it would have run. */
  readonly skipped: number;
  /** It would have run with attributes that the event does not have. */
  readonly failed: number;
  /** False: there were more events than are looked at. */
  readonly complete: boolean;
  /** The last of the matches. */
  readonly last: readonly {
    readonly position: number;
    readonly at: number;
    readonly type: string;
    readonly outcome: 'failed' | 'skipped' | 'started';
    readonly reason: string | null;
  }[];
}

export interface TryingDeps {
  readonly log: Pick<EventLog, 'last' | 'positionBefore' | 'read'>;
}

/** Looks at the events since then as a rule would; nothing is started. @param sinceMs Milliseconds since the epoch. */
export async function tryRule(
  { log }: TryingDeps,
  org: Organization,
  rule: Pick<Rule, 'atMost' | 'blackout' | 'selector'> & {
    readonly work: Work | null;
    readonly blackoutAt: (at: number) => Blackout | null;
  },
  sinceMs: number,
): Promise<Tried> {
  const matches = compileText(parseSelector(rule.selector, { sugar: false }));
  const event = new Delivery();
  const last: Tried['last'][number][] = [];
  const startedAt: number[] = [];
  const counts = { events: 0, matched: 0, started: 0, skipped: 0, failed: 0 };
  const end = log.last();
  let after = await log.positionBefore(sinceMs);
  while (after < end && counts.events < RULE_LIMITS.triedEvents) {
    const page = await log.read(after, org.name, PAGE);
    for (const logged of page.events) {
      counts.events++;
      event.show(logged);
      const type = event.get('type') ?? '';
      if (!matches(event) || type.startsWith('rule.')) continue;
      counts.matched++;
      const { atMs: at, position } = logged;
      const verdict = judge({ id: '', atMost: rule.atMost }, null, startedAt, at);
      const { outcome, reason } = verdict.type === 'skip' ? SKIPPED : wouldBe(rule, event, at);
      counts[outcome]++;
      if (verdict.type === 'start') startedAt.push(at);
      while (startedAt.length > rule.atMost.runs) startedAt.shift();
      last.push({ position, at, type, outcome, reason });
      if (last.length > RULE_LIMITS.triedShown) last.shift();
    }
    if (page.through <= after) break;
    after = page.through;
    // Others have their turns.
    await setImmediate();
  }
  return { ...counts, complete: after >= end, last };
}

type Would = Pick<Tried['last'][number], 'outcome' | 'reason'>;

const SKIPPED: Would = { outcome: 'skipped', reason: null };

function wouldBe(
  { work, blackout: rule, blackoutAt }: Parameters<typeof tryRule>[2],
  event: Delivery,
  at: number,
): Would {
  const blackout = blackoutAt(at);
  if (blackout !== null && rule === 'skip') return { outcome: 'skipped', reason: blackoutText(blackout) };
  const reason = reasonAgainst(work, event);
  if (reason !== null) return { outcome: 'failed', reason };
  return { outcome: 'started', reason: blackout && blackoutText(blackout) };
}

/** What of it may name attributes. */
function textsOf(work: Work): unknown {
  switch (work.kind) {
    case 'runbook':
      return [work.parameters, work.node];
    case 'task':
      return work.task;
    case 'job':
      return work.request;
  }
}

function reasonAgainst(work: Work | null, event: Delivery): string | null {
  if (work === null) return null;
  try {
    fillAll(textsOf(work), event);
    return null;
  } catch (error) {
    if (error instanceof Unfilled) return error.message;
    throw error;
  }
}
