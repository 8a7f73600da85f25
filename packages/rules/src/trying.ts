import { setImmediate } from 'node:timers/promises';
import { Delivery, type EventLog } from '@muster/fabric';
import type { Organization } from '@muster/platform/auth';
import { compileText, parseSelector } from '@muster/selector';
import { type Blackout, blackoutText } from '@muster/tasks';
import { RULE_LIMITS } from './limits.js';
import { judge } from './machine.js';
import { reasonOf } from './reason.js';
import type { Starting } from './starting.js';
import type { Rule, Work } from './types.js';

/** Matches that are judged in one turn. */
const TURN = 100;
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
  /** What it would have started would have been refused, or the event lacks an attribute. */
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
  readonly starting: Pick<Starting, 'foresee'>;
}

/** Looks at the events since then as a rule would; nothing is started. @param sinceMs Milliseconds since the epoch. */
export async function tryRule(
  { log, starting }: TryingDeps,
  org: Organization,
  rule: Pick<Rule, 'atMost' | 'blackout' | 'selector'> & {
    readonly work: Work | null;
    readonly blackoutAt: (at: number) => Blackout | null;
  },
  sinceMs: number,
): Promise<Tried> {
  const refused = rule.work && starting.foresee(org, rule.work);
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
      const { outcome, reason } = verdict.type === 'skip' ? SKIPPED : await wouldBe(rule, refused, event, at);
      counts[outcome]++;
      if (outcome === 'started') startedAt.push(at);
      while (startedAt.length > rule.atMost.runs) startedAt.shift();
      last.push({ position, at, type, outcome, reason });
      if (last.length > RULE_LIMITS.triedShown) last.shift();
      // Others have their turns: what is judged whole, as a script, takes longer than what is looked at.
      if (counts.matched % TURN === 0) await setImmediate();
    }
    if (page.through <= after) break;
    after = page.through;
    await setImmediate();
  }
  return { ...counts, complete: after >= end, last };
}

type Would = Pick<Tried['last'][number], 'outcome' | 'reason'>;

const SKIPPED: Would = { outcome: 'skipped', reason: null };

/** Throws why an event would start nothing. */
type Refused = ReturnType<Starting['foresee']>;

async function wouldBe(
  { blackout: rule, blackoutAt }: Parameters<typeof tryRule>[2],
  refused: Refused | null,
  event: Delivery,
  at: number,
): Promise<Would> {
  const blackout = blackoutAt(at);
  if (blackout !== null && rule === 'skip') return { outcome: 'skipped', reason: blackoutText(blackout) };
  const reason = await reasonAgainst(refused, event);
  if (reason !== null) return { outcome: 'failed', reason };
  return { outcome: 'started', reason: blackout && blackoutText(blackout) };
}

/** The same that a run would be told of. @throws What says nothing of the work: it may go better in a moment. */
async function reasonAgainst(refused: Refused | null, event: Delivery): Promise<string | null> {
  if (refused === null) return null;
  try {
    await refused(event);
    return null;
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === null) throw error;
    return reason;
  }
}
