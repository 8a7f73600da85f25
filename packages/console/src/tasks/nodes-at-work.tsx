import { useComputed } from '@preact/signals';
import type { Tasks } from '../api/types.gen.js';
import type { Queue } from '../live/queues.js';
import { useReading } from '../live/reading.js';
import { Card } from '../parts/card.jsx';
import { Failure, Waiting } from '../parts/note.jsx';
import { number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';

/** Tasks at work that are looked at; of more the shares are those of these. */
const MOST = 1000;
const SHOWN = 10;
const AT_WORK = "status IN ('claimed', 'running')";

/** Which nodes work on a queue, and on how many of its tasks each. */
export function NodesAtWork({ queue }: { readonly queue: Queue }) {
  const { api, store } = signedIn();
  const kept = useReading<Tasks>({
    key: queue.id,
    selector: `queue = '${queue.id}' AND type IN ('task.claimed', 'task.ended', 'task.waiting')`,
    read: (signal) => api.get<Tasks>(`/queues/${queue.id}/tasks`, { q: AT_WORK, limit: MOST }, signal),
  });
  const fleet = useComputed(() => (store.fleet.loaded.value.state === 'ready' ? store.fleet.loaded.value.value : null));
  const { loaded, again } = kept;
  if (loaded.state !== 'ready') {
    return (
      <Card title="Nodes at work">
        {loaded.state === 'loading' ? (
          <Waiting what="nodes" />
        ) : (
          <div class="inside">
            <Failure error={loaded.error} again={again} />
          </div>
        )}
      </Card>
    );
  }
  const { tasks, next } = loaded.value;
  const nodes = nodesOf(tasks);
  const most = nodes[0]?.tasks ?? 1;
  return (
    <Card title="Nodes at work" aside={<span class="quiet number">{number(nodes.length)}</span>}>
      {nodes.length === 0 ? (
        <p class="inside quiet">None has a task of it now.</p>
      ) : (
        <ul class="inside stack">
          {nodes.slice(0, SHOWN).map(({ node, tasks: count }) => (
            <li key={node} class="share">
              <a class="mono cut" href={hrefOf(api.org, { name: 'node', node })}>
                {safeText(node)}
              </a>
              <progress class="progress" value={count} max={most} aria-label={`Tasks of ${safeText(node)}`} />
              <span class="number">
                {number(count)}
                {fleet.value?.get(node)?.owner === 'down' && <span class="bad"> down</span>}
              </span>
            </li>
          ))}
          {nodes.length > SHOWN && <li class="quiet">and {number(nodes.length - SHOWN)} more</li>}
          {next !== null && <li class="quiet">Of the newest {number(MOST)} at work.</li>}
        </ul>
      )}
    </Card>
  );
}

/** The busiest first. */
function nodesOf(tasks: Tasks['tasks']): readonly { readonly node: string; readonly tasks: number }[] {
  const counts = new Map<string, number>();
  for (const { node } of tasks) if (node !== null) counts.set(node, (counts.get(node) ?? 0) + 1);
  return [...counts]
    .map(([node, count]) => ({ node, tasks: count }))
    .sort((a, b) => b.tasks - a.tasks || (a.node < b.node ? -1 : 1));
}
