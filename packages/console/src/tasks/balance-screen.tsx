import { useSignal } from '@preact/signals';
import type { Balance } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { Action } from '../parts/action.jsx';
import { Card } from '../parts/card.jsx';
import { Command } from '../parts/command.jsx';
import { Shown } from '../parts/loaded.jsx';
import { Note } from '../parts/note.jsx';
import { number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { Ago } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';
import type { Look } from '../statuses/look.js';
import { ChangePlan } from './plan.jsx';
import { whenOf } from './plan-lines.js';

const LOOKS: Readonly<Record<NonNullable<Balance['status']>, Look>> = {
  OK: { glyph: 'check', word: 'OK', tone: 'ok' },
  WARNING: { glyph: 'bang', word: 'warning', tone: 'warn' },
  CRITICAL: { glyph: 'cross', word: 'critical', tone: 'bad' },
};

/** How threads are shared out over queues by the time of day. */
export function BalanceScreen() {
  const { api } = signedIn();
  const changing = useSignal(false);
  const kept = useReading<Balance>({
    key: 'balance',
    // Each round that shares out changes threads of queues.
    selector: "type LIKE 'queue.%'",
    read: (signal) => api.get<Balance>('/disbatch/balance', {}, signal),
  });
  const ready = kept.loaded.state === 'ready' ? kept.loaded.value : null;
  return (
    <>
      <div class="head">
        <div class="title">
          <p>
            <a href={hrefOf(api.org, { name: 'queues' })}>Task queues</a>
          </p>
          <h1>Balance</h1>
        </div>
        {ready !== null && (
          <div class="actions">
            <Action
              label={ready.queues === undefined ? 'Make a plan …' : 'Change …'}
              may={mayI('task:write')}
              onClick={() => (changing.value = true)}
            />
          </div>
        )}
      </div>
      <Shown of={kept} what="the balance">
        {(balance) => <Plan balance={balance} />}
      </Shown>
      <Command text="muster queue balance" />
      {changing.value && ready !== null && (
        <ChangePlan balance={ready} onSaved={kept.again} onClose={() => (changing.value = false)} />
      )}
    </>
  );
}

function Plan({ balance }: { readonly balance: Balance }) {
  const { max_tasks: times, queues, settings } = balance;
  return (
    <>
      {!settings.enabled && (
        <Note>The server does not balance: it does when it is started with --disbatch-balance.</Note>
      )}
      {settings.enabled && settings.pretend && <Note>The server only pretends to balance: it changes no queue.</Note>}
      {times === undefined || queues === undefined ? (
        <section class="card">
          <div class="empty">
            <h2>No plan yet</h2>
            <p>
              A plan says how many tasks run at most from which time of the day on, and which queues come first: the
              later groups get what they can use, the first one what is left.
            </p>
          </div>
        </section>
      ) : (
        <>
          <Standing balance={balance} />
          <div class="two">
            <Card title="Tasks at most">
              <dl class="facts inside">
                {Object.entries(times).map(([time, most]) => (
                  <>
                    <dt>{whenOf(time)}</dt>
                    <dd>{number(most)}</dd>
                  </>
                ))}
              </dl>
            </Card>
            <Card title="Queues, those first that come first">
              <ol class="lines">
                {[...queues].reverse().map((group, index) => (
                  <li key={group.join(' ')}>
                    <span class="break">
                      {group.map((name, place) => (
                        <>
                          {place > 0 && ', '}
                          <QueueLink name={name} />
                        </>
                      ))}
                      {index === queues.length - 1 && <span class="quiet"> get what is left</span>}
                    </span>
                  </li>
                ))}
              </ol>
            </Card>
          </div>
        </>
      )}
    </>
  );
}

function QueueLink({ name }: { readonly name: string }) {
  const { org } = signedIn().api;
  return (
    <a class="mono" href={hrefOf(org, { name: 'queue', queue: name })}>
      {safeText(name)}
    </a>
  );
}

function Standing({ balance: { status, message, timestamp, disabled } }: { readonly balance: Balance }) {
  const look = status === undefined ? undefined : LOOKS[status];
  return (
    <section class="card">
      <div class="inside stack">
        <div class="line">
          {look === undefined ? <span class="quiet">Not balanced yet</span> : <Status look={look} badge />}
          <span class="grow break">{safeText(message ?? '')}</span>
          {timestamp !== undefined && (
            <span class="quiet">
              <Ago at={timestamp * 1000} word=" ago" />
            </span>
          )}
        </div>
        {disabled !== undefined && disabled !== null && (
          <p>Nothing is balanced until {new Date(disabled * 1000).toISOString()}.</p>
        )}
      </div>
    </section>
  );
}
