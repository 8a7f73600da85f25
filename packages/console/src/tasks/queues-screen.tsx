import { endedLastMinute, type Queue } from '../live/queues.js';
import { go, place, setParameters } from '../navigation.js';
import { Command } from '../parts/command.jsx';
import { Shown } from '../parts/loaded.jsx';
import { number } from '../parts/numbers.js';
import { Prose } from '../parts/prose.jsx';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { Ago, now } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { QUEUE_LOOKS } from '../statuses/tasks.js';
import { type Column, Table } from '../table/table.jsx';
import { QueueBar, rateText, threadsText } from './parts.jsx';
import { useQueues } from './read-queues.js';

/** What waits, what runs, and what stands still. */
export function QueuesScreen() {
  const { api } = signedIn();
  const kept = useQueues();
  const given = place.value.query.get('q') ?? '';
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Task queues</h1>
        </div>
        <div class="actions">
          <a class="button" href={hrefOf(api.org, { name: 'tasks' })}>
            All tasks
          </a>
          <a class="button" href={hrefOf(api.org, { name: 'balance' })}>
            Balance
          </a>
        </div>
      </div>
      <Shown of={kept} what="queues">
        {({ queues, at }) =>
          queues.length === 0 ? <NoQueues /> : <List queues={queues} at={at} given={given} org={api.org} />
        }
      </Shown>
      <Command text="muster queue list" />
    </>
  );
}

interface ListProps {
  readonly queues: readonly Queue[];
  readonly at: number;
  readonly given: string;
  readonly org: string;
}

function List({ queues, at, given, org }: ListProps) {
  const word = given.trim().toLowerCase();
  const shown = queues.filter(({ name, plugin }) => `${name} ${plugin}`.toLowerCase().includes(word));
  return (
    <>
      <div class="filters">
        <div class="field grow">
          <label for="queues-filter">Queue or plugin</label>
          <input
            id="queues-filter"
            class="input"
            data-filter
            value={given}
            placeholder="resize"
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setParameters({ q: event.currentTarget.value })}
          />
        </div>
      </div>
      <section class="card">
        {shown.length === 0 ? (
          <div class="empty">
            <h2>No queue is called so</h2>
            <button type="button" class="button" onClick={() => setParameters({ q: null })}>
              Show all queues
            </button>
          </div>
        ) : (
          <Table
            label="Queues"
            columns={columns(org, at)}
            rows={shown}
            keyOf={({ id }) => id}
            onOpen={({ name }) => go(hrefOf(org, { name: 'queue', queue: name }))}
          />
        )}
      </section>
      <Still queues={shown} org={org} />
    </>
  );
}

/** Queues in which something waits and nothing moves. */
function Still({ queues, org }: { readonly queues: readonly Queue[]; readonly org: string }) {
  const still = queues.filter(({ why }) => why.length > 0);
  if (still.length === 0) return null;
  return (
    <section class="card">
      <header>
        <h2>Why {still.length === 1 ? 'one stands still' : `${number(still.length)} stand still`}</h2>
      </header>
      <ul class="lines">
        {still.map(({ id, name, why }) => (
          <li key={id}>
            <span class="break">
              <a href={hrefOf(org, { name: 'queue', queue: name })}>{safeText(name)}</a>{' '}
              <span class="quiet">
                <Prose text={why.join(' ')} />
              </span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function NoQueues() {
  return (
    <section class="card">
      <div class="empty">
        <h2>No queue yet</h2>
        <p>
          A queue is a backlog: tasks that a plugin of some nodes works through, so many at a time, until each has ended
          well or is given up. Nothing is lost when nodes or the server go away.
        </p>
        <Command text="muster queue create resize --plugin thumbnail --threads 8" />
        <Command text="muster task add resize --param file=a.png" />
        <p class="quiet">Which plugins a node has, its owner says there, in the agent's settings.</p>
      </div>
    </section>
  );
}

function columns(org: string, at: number): readonly Column<Queue>[] {
  return [
    {
      id: 'name',
      head: 'Queue',
      track: 'minmax(90px, 1.4fr)',
      cell: ({ name }) => (
        <a class="mono" tabIndex={-1} href={hrefOf(org, { name: 'queue', queue: name })}>
          {safeText(name)}
        </a>
      ),
    },
    { id: 'state', head: 'State', track: '96px', cell: ({ state }) => <Status look={QUEUE_LOOKS[state]} /> },
    { id: 'bar', head: 'Tasks', track: 'minmax(60px, 1fr)', wide: true, cell: (queue) => <QueueBar queue={queue} /> },
    count('Waiting', '76px', ({ counts }) => counts.queued + counts.blocked),
    { ...count('Running', '76px', ({ counts }) => counts.running + counts.claimed), wide: true },
    { ...count('Failed', '68px', ({ counts }) => counts.failed + counts.orphaned), wide: true },
    { ...count('Succeeded', '88px', ({ counts }) => counts.succeeded), wide: true },
    { id: 'threads', head: 'Threads', track: '80px', wide: true, end: true, cell: threadsText },
    {
      id: 'rate',
      head: 'Rate',
      track: '80px',
      wide: true,
      end: true,
      cell: (queue) => <span class="number">{rateText(endedLastMinute(queue, now.value - at))}</span>,
    },
    {
      id: 'oldest',
      head: 'Oldest',
      track: '64px',
      wide: true,
      end: true,
      cell: ({ oldest_waiting: oldest }) =>
        oldest === null ? <span class="quiet">–</span> : <Ago at={Date.parse(oldest)} />,
    },
  ];
}

function count(head: string, track: string, of: (queue: Queue) => number): Column<Queue> {
  return {
    id: head.toLowerCase(),
    head,
    track,
    end: true,
    cell: (queue) => <span class={`number ${of(queue) === 0 ? 'quiet' : ''}`}>{number(of(queue))}</span>,
  };
}
