import { useSignal } from '@preact/signals';
import { type ApiError, apiError } from '../api/errors.js';
import { applyToQueues, type Queue } from '../live/queues.js';
import { useReading } from '../live/reading.js';
import { go } from '../navigation.js';
import { Action } from '../parts/action.jsx';
import { Card } from '../parts/card.jsx';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { Shown } from '../parts/loaded.jsx';
import { Failure } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { Prose } from '../parts/prose.jsx';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { Ago, duration } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';
import { QUEUE_LOOKS } from '../statuses/tasks.js';
import { Limit } from './limit.jsx';
import { NewTask } from './new-task.jsx';
import { NodesAtWork } from './nodes-at-work.jsx';
import { QueueBar, threadsText } from './parts.jsx';
import { QueueSettings } from './settings.jsx';
import { TaskList } from './task-list.jsx';

/** One queue: what it has, why it stands still, and all of its tasks. */
export function QueueScreen({ name }: { readonly name: string }) {
  const { api } = signedIn();
  // Events tell the id alone, which stays when the queue is called otherwise.
  const found = useReading<Queue>({
    key: name,
    selector: null,
    read: (signal) => api.get<Queue>(`/queues/${encodeURIComponent(name)}`, {}, signal),
  });
  return (
    <>
      {found.loaded.state !== 'ready' && <h1 class="mono break">{safeText(name)}</h1>}
      <Shown of={found} what="the queue">
        {({ id }) => <Followed key={id} id={id} />}
      </Shown>
      {found.loaded.state === 'failed' && (
        <p>
          <a href={hrefOf(api.org, { name: 'queues' })}>All task queues</a>
        </p>
      )}
    </>
  );
}

function Followed({ id }: { readonly id: string }) {
  const { api } = signedIn();
  const kept = useReading<readonly Queue[]>({
    key: id,
    selector: `queue = '${id}' OR type IN ('node.up', 'node.down')`,
    read: async (signal) => {
      const answer = await api.get<Queue>(`/queues/${id}`, {}, signal);
      return { ...answer, body: [answer.body] };
    },
    apply: applyToQueues,
  });
  return (
    <Shown of={kept} what="the queue">
      {([queue]) => (queue === undefined ? <Gone /> : <One queue={queue} again={kept.again} />)}
    </Shown>
  );
}

function Gone() {
  const { org } = signedIn().api;
  return (
    <>
      <h1>Task queue</h1>
      <section class="card">
        <div class="empty">
          <h2>This queue was deleted, with its tasks</h2>
          <a href={hrefOf(org, { name: 'queues' })}>All task queues</a>
        </div>
      </section>
    </>
  );
}

const STATE_ACTIONS = {
  pause: { label: 'Pause', of: ['open', 'draining'] },
  resume: { label: 'Resume', of: ['paused', 'draining'] },
  drain: { label: 'Drain', of: ['open'] },
} as const;

function One({ queue, again }: { readonly queue: Queue; readonly again: () => void }) {
  const { api } = signedIn();
  const { org } = api;
  const error = useSignal<ApiError | null>(null);
  const open = useSignal<'add' | 'settings' | 'delete' | null>(null);
  const allowed = mayI('task:write');
  const path = `/queues/${encodeURIComponent(queue.id)}`;
  const change = async (action: string): Promise<void> => {
    try {
      await api.post(`${path}/${action}`, undefined);
      error.value = null;
      again();
    } catch (thrown) {
      error.value = apiError(thrown);
    }
  };
  const total = Object.values(queue.counts).reduce((sum, count) => sum + count, 0);
  const onNodes = queue.counts.claimed + queue.counts.running;
  return (
    <>
      <div class="head">
        <div class="title">
          <p>
            <a href={hrefOf(org, { name: 'queues' })}>Task queues</a>
          </p>
          <h1 class="mono break">{safeText(queue.name)}</h1>
          <div class="line quiet">
            <Status look={QUEUE_LOOKS[queue.state]} badge />
            <span class="cut">plugin {safeText(queue.plugin)}</span>
          </div>
        </div>
        <div class="actions">
          <Action label="Add a task …" may={mayI('queue:write')} onClick={() => (open.value = 'add')} />
          {Object.entries(STATE_ACTIONS)
            .filter(([, { of }]) => (of as readonly string[]).includes(queue.state))
            .map(([action, { label }]) => (
              <Action key={action} label={label} may={allowed} onClick={() => void change(action)} />
            ))}
          <Action label="Limits …" may={allowed} onClick={() => (open.value = 'settings')} />
          <Action label="Delete …" tone="danger" may={allowed} onClick={() => (open.value = 'delete')} />
        </div>
      </div>
      {error.value !== null && <Failure error={error.value} />}
      <section class="card">
        <div class="inside stack">
          <QueueBar queue={queue} />
          <p class="number">
            <strong>{threadsText(queue)}</strong> <span class="quiet">at work</span> ·{' '}
            <strong>{number(queue.counts.queued + queue.counts.blocked)}</strong> <span class="quiet">wait</span>
            {queue.oldest_waiting !== null && (
              <span class="quiet">
                , the oldest for <Ago at={Date.parse(queue.oldest_waiting)} />
              </span>
            )}{' '}
            · <strong>{queue.ended_last_minute === 0 ? 'none' : number(queue.ended_last_minute)}</strong>{' '}
            <span class="quiet">ended in the last minute</span>
          </p>
          <Limit queue={queue} onSaved={again} />
          {queue.why.length > 0 && (
            <div class="why-list">
              <h2>Why nothing is started</h2>
              {queue.why.map((text) => (
                <p key={text} class="break">
                  <Prose text={text} />
                </p>
              ))}
            </div>
          )}
        </div>
      </section>
      <TaskList queue={queue} />
      <div class="two">
        <NodesAtWork queue={queue} />
        <Card title="Limits">
          <Limits queue={queue} />
        </Card>
      </div>
      <Command text={musterCommand('queue', 'show', queue.name)} />
      {open.value === 'add' && <NewTask queue={queue} onClose={() => (open.value = null)} />}
      {open.value === 'settings' && <QueueSettings queue={queue} onSaved={again} onClose={() => (open.value = null)} />}
      {open.value === 'delete' && (
        <Confirm
          title={`Delete ${safeText(queue.name)} and ${plural(total, 'task')}?`}
          action="Delete the queue"
          leave="Leave it"
          count={total}
          off={onNodes > 0}
          onConfirm={async () => {
            await api.delete(path);
            go(hrefOf(org, { name: 'queues' }));
          }}
          onClose={() => (open.value = null)}
        >
          <p>Its tasks are gone with their output, and cannot be brought back.</p>
          {onNodes > 0 && (
            <p>Nodes have {plural(onNodes, 'task')} of it: cancel them first, or pause it and let them end.</p>
          )}
          <Command text={musterCommand('queue', 'rm', queue.name)} />
        </Confirm>
      )}
    </>
  );
}

function Limits({ queue }: { readonly queue: Queue }) {
  const { threads, rate, weight, key, retry, timeout, nodes, ignore_nodes: ignored, sort } = queue;
  const seconds = (value: number) => duration(value * 1000);
  const lines: readonly (readonly [string, string])[] = [
    ['threads', threads === null ? 'no limit' : number(threads)],
    ['weight', number(weight)],
    ['order', sort],
    ['rate', rate === null ? 'no limit' : `${number(rate.tasks)} in ${seconds(rate.seconds)}`],
    ['per key', key === null ? 'no limit' : `${number(key.limit)} of one ${key.param}`],
    ['retries', retry.limit === 0 ? 'none' : `${number(retry.limit)}, from ${seconds(retry.first)} on`],
    ['timeout', timeout === null ? 'none' : seconds(timeout)],
    ['nodes', nodes ?? 'all'],
    ...(ignored === null ? [] : [['not on', ignored] as const]),
  ];
  return (
    <dl class="facts inside">
      {lines.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{safeText(value)}</dd>
        </>
      ))}
    </dl>
  );
}
