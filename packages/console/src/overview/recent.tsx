import { FINAL_JOB_STATUSES, type Job } from '../api/types.js';
import type { Loaded } from '../live/snapshot.js';
import { plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Ago } from '../parts/time.jsx';
import { JobStatus } from '../push/parts.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';

/** Push jobs that have ended. */
export function RecentPanel({ loaded }: { readonly loaded: Loaded<readonly Job[]> }) {
  const { org } = signedIn().api;
  if (loaded.state !== 'ready') return null;
  const ended = loaded.value.filter(({ status }) => FINAL_JOB_STATUSES.has(status)).slice(0, 6);
  if (ended.length === 0) return null;
  return (
    <section class="card whole">
      <header>
        <h2>Ended last</h2>
      </header>
      <ul class="lines">
        {ended.map((job) => (
          <li key={job.id}>
            <div class="line">
              <a class="grow cut mono" href={hrefOf(org, { name: 'job', id: job.id })}>
                {safeText(job.command)}
              </a>
              <span class="quiet wide cut">{job.created_by}</span>
              <span class="quiet number">{plural(job.node_count, 'node')}</span>
              <JobStatus job={job} />
              <span class="quiet wide">
                <Ago at={Date.parse(job.updated_at)} word=" ago" />
              </span>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
