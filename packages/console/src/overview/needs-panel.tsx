import { useComputed } from '@preact/signals';
import type { Approvals } from '../api/types.gen.js';
import type { Job } from '../api/types.js';
import { readJobs } from '../jobs/read.js';
import { ofLongJobs } from '../jobs/told.js';
import type { Fleet } from '../live/fleet.js';
import { useReading } from '../live/reading.js';
import type { Loaded } from '../live/snapshot.js';
import { Action } from '../parts/action.jsx';
import { useAttempt } from '../parts/attempt.js';
import { Glyph } from '../parts/glyph.jsx';
import { Failure } from '../parts/note.jsx';
import { number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Ago, now } from '../parts/time.jsx';
import { mayI, signedIn } from '../session/session.js';
import type { ReadQueues } from '../tasks/read-queues.js';
import { approvalsInNeed, blockedJobs, jobsInNeed, type Need, nodesInNeed, pausedQueues } from './needs.js';

interface Props {
  readonly fleet: Loaded<Fleet>;
  /** The newest push jobs. */
  readonly push: Loaded<readonly Job[]>;
  readonly queues: Loaded<ReadQueues>;
}

const SHOWN = 8;

/** What somebody should look at, the newest first. */
export function NeedsPanel({ fleet, push, queues }: Props) {
  const { api } = signedIn();
  const { org } = api;
  const { loaded: waiting } = useReading({
    key: '',
    read: (signal) => api.get<Approvals>('/approvals', { status: 'pending' }, signal),
    selector: "type LIKE 'approval.%'",
  });
  const { loaded: blocked } = useReading({
    key: '',
    read: (signal) => readJobs(api, { q: '', statuses: ['BLOCKED'], hidden: false }, 1, signal),
    ...ofLongJobs,
  });
  const minute = useComputed(() => Math.floor(now.value / 10_000));
  const at = minute.value * 10_000;
  const needs = [
    ...(fleet.state === 'ready' ? nodesInNeed(org, fleet.value, at) : []),
    ...(push.state === 'ready' ? jobsInNeed(org, push.value, at) : []),
    ...(waiting.state === 'ready' ? approvalsInNeed(org, waiting.value) : []),
    ...(blocked.state === 'ready' ? blockedJobs(org, blocked.value.jobs) : []),
    ...(queues.state === 'ready' ? pausedQueues(org, queues.value.queues) : []),
  ].sort((a, b) => b.at - a.at);
  if (fleet.state !== 'ready' && push.state !== 'ready') return null;
  return (
    <section class="card whole">
      <header>
        <h2>Needs you{needs.length > 0 && ` (${number(needs.length)})`}</h2>
      </header>
      {needs.length === 0 ? (
        <p class="inside line">
          <Glyph name="check" tone="ok" /> Nothing: no node is in trouble, no recent job failed, none is blocked, and
          nothing waits for an approval.
        </p>
      ) : (
        <ul class="lines">
          {needs.slice(0, SHOWN).map((need) => (
            <NeedLine key={need.key} need={need} />
          ))}
        </ul>
      )}
      {needs.length > SHOWN && <p class="inside quiet">and {number(needs.length - SHOWN)} more</p>}
    </section>
  );
}

function NeedLine({ need: { href, what, why, at, tone, paused } }: { readonly need: Need }) {
  const { api } = signedIn();
  const { busy, error, attempt } = useAttempt();
  return (
    <li>
      <div class="line">
        <Glyph name="bang" tone={tone} />
        <span class="grow break">
          <a href={href}>{safeText(what)}</a> <span class="quiet">{safeText(why)}</span>
        </span>
        {paused !== undefined && (
          <Action
            label="Resume"
            small
            may={mayI('task:write')}
            busy={busy.value}
            onClick={() => void attempt(() => api.post(`/queues/${encodeURIComponent(paused)}/resume`, undefined))}
          />
        )}
        <span class="quiet">
          <Ago at={at} word=" ago" />
        </span>
      </div>
      {error.value !== null && <Failure error={error.value} />}
    </li>
  );
}
