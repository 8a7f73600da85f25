import type { Answer } from '../../api/client.js';
import type { JobQueueStats, JobQueues } from '../../api/types.gen.js';
import { useReading } from '../../live/reading.js';
import { Command } from '../../parts/command.jsx';
import { equals } from '../../parts/equals.js';
import { Shown } from '../../parts/loaded.jsx';
import { number } from '../../parts/numbers.js';
import { safeText } from '../../parts/safe-text.js';
import { hrefOf } from '../../route.js';
import { signedIn } from '../../session/session.js';
import { word } from '../../statuses/jobs.js';
import { shortQueue } from '../parts.jsx';

/** Jobs come and go, queues are made and changed, and workers take from them. */
const TOLD = "type LIKE 'job.%' OR type LIKE 'job_queue.%' OR type LIKE 'job_worker.%'";

interface QueueRow {
  readonly name: string;
  readonly priority: number | null;
  readonly filter: string;
  readonly stats: JobQueueStats[number] | undefined;
}

/** What waits in which queue. */
export function QueuesPart() {
  const { api } = signedIn();
  const kept = useReading({
    key: '',
    read: async (signal): Promise<Answer<readonly QueueRow[]>> => {
      const [queues, stats] = await Promise.all([
        api.get<JobQueues>('/job-queues', {}, signal),
        api.get<JobQueueStats>('/job-queues/stats', {}, signal),
      ]);
      return {
        ...queues,
        body: queues.body.map(({ name, priority, filter }) => ({
          name,
          priority,
          filter,
          stats: stats.body.find((each) => each.name === name),
        })),
      };
    },
    selector: TOLD,
    // The broker hears of what is stored a moment later.
    afterwards: true,
  });
  return (
    <Shown of={kept} what="job queues">
      {(queues) => (
        <>
          <section class="card">
            <ul class="lines">
              {queues.map(({ name, priority, filter, stats }) => (
                <li key={name}>
                  <div class="line">
                    <span class="grow break">
                      <strong>{safeText(shortQueue(name))}</strong>{' '}
                      <span class="quiet">
                        priority {priority}, takes <code>{safeText(filter)}</code>
                      </span>
                    </span>
                    <span class="number">{stats === undefined ? '–' : `${count(stats.ready)} wait`}</span>
                    <span class="quiet number">
                      {stats === undefined ? '' : `${number(stats.held)} held, ${number(stats.slots)} slots`}
                    </span>
                  </div>
                  <div class="choices">
                    {Object.entries(stats?.jobs ?? {}).map(([status, jobs]) => (
                      <a
                        key={status}
                        class="chip"
                        href={hrefOf(api.org, { name: 'long-jobs' }, { q: equals('tenantQueue', name), status })}
                      >
                        {word(status)} <span class="number">{number(jobs)}</span>
                      </a>
                    ))}
                  </div>
                </li>
              ))}
            </ul>
          </section>
          <p class="quiet">
            Filters are asked in this order; the first that matches takes the job. They are kept in a file:
          </p>
          <Command text="muster job-queue apply -f queues.json" />
        </>
      )}
    </Shown>
  );
}

function count(value: number | null): string {
  return value === null ? '?' : number(value);
}
