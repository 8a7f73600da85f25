import { useSignal } from '@preact/signals';
import type { RuleRuns, Rules } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { setParameters } from '../navigation.js';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { duration } from '../parts/duration.js';
import { equals } from '../parts/equals.js';
import { Listed } from '../parts/listed.jsx';
import { Shown } from '../parts/loaded.jsx';
import { number } from '../parts/numbers.js';
import { Pane } from '../parts/pane.jsx';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { Ago } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import type { Look } from '../statuses/look.js';
import type { Column } from '../table/table.jsx';

type Rule = Rules[number];
type Run = RuleRuns[number];

const RUNS = 50;

const OUTCOMES: Readonly<Record<Run['outcome'], Look>> = {
  started: { glyph: 'check', word: 'started', tone: 'ok' },
  asked: { glyph: 'clock', word: 'asked', tone: 'warn' },
  denied: { glyph: 'ban', word: 'denied', tone: 'bad' },
  expired: { glyph: 'dash', word: 'expired', tone: 'idle' },
  failed: { glyph: 'cross', word: 'failed', tone: 'bad' },
  skipped: { glyph: 'dash', word: 'skipped', tone: 'idle' },
  waiting: { glyph: 'clock', word: 'waiting', tone: 'warn' },
};

function stateLook({ enabled }: Rule): Look {
  return enabled ? { glyph: 'play', word: 'on', tone: 'ok' } : { glyph: 'stop', word: 'off', tone: 'warn' };
}

/** Events that start something. */
export function RulesScreen() {
  const { api } = signedIn();
  const kept = useReading<Rules>({
    key: 'rules',
    selector: "type LIKE 'rule.%'",
    read: (signal) => api.get<Rules>('/rules', {}, signal),
  });
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Rules</h1>
        </div>
      </div>
      <Listed
        of={kept}
        what={['rules', 'rule']}
        label="Rules"
        columns={columns}
        keyOf={({ name }) => name}
        empty={() => <NoRules />}
        pane={{ parameter: 'rule', of: (rule) => <Open key={rule.name} rule={rule} again={kept.again} /> }}
      />
      <Command text="muster rule list" />
    </>
  );
}

function NoRules() {
  return (
    <>
      <h2>No rule yet</h2>
      <p>
        A rule starts a runbook, a task or a job for each event that its selector finds, so often at most, with the
        rights of whoever made it. What it would have done of late is told before it is made.
      </p>
      <Command
        text={`muster rule create disk-full --on "type = 'disk.high' AND percent > 90" --run clean-tmp --on-node '{host}' --dry-run`}
      />
    </>
  );
}

function startsText({ runbook, task, job }: Rule): string {
  if (runbook !== null) return `runbook ${runbook.name}`;
  if (task !== null) return `task of ${String(task.queue ?? 'a queue that is gone')}`;
  return `job of ${String(job?.appId ?? '')}`;
}

function atMostText({ at_most: { runs, seconds } }: Rule): string {
  return `${number(runs)} in ${duration(seconds * 1000)}`;
}

const columns: readonly Column<Rule>[] = [
  { id: 'name', head: 'Rule', track: 'minmax(0, 1fr)', cell: ({ name }) => <span class="mono">{safeText(name)}</span> },
  { id: 'state', head: 'State', track: '60px', cell: (rule) => <Status look={stateLook(rule)} /> },
  {
    id: 'on',
    head: 'On',
    track: 'minmax(0, 2fr)',
    wide: true,
    cell: ({ on }) => <code title={safeText(on)}>{safeText(on)}</code>,
  },
  { id: 'starts', head: 'Starts', track: 'minmax(0, 1.2fr)', cell: (rule) => safeText(startsText(rule)) },
  { id: 'most', head: 'At most', track: '100px', wide: true, cell: atMostText },
  {
    id: 'skipped',
    head: 'Skipped',
    track: '70px',
    wide: true,
    end: true,
    cell: ({ skipped }) => <span class="number">{number(skipped)}</span>,
  },
];

const SIGNED = 'a rule acts for whoever changed it last: a signed request is needed, as the command makes it';

function Open({ rule, again }: { readonly rule: Rule; readonly again: () => void }) {
  const { api } = signedIn();
  const { name } = rule;
  const asking = useSignal<'off' | 'delete' | null>(null);
  const path = `/rules/${encodeURIComponent(name)}`;
  const runs = useReading<RuleRuns>({
    key: name,
    selector: `type LIKE 'rule.%' AND ${equals('name', name)}`,
    read: (signal) => api.get<RuleRuns>(`${path}/runs`, { limit: RUNS }, signal),
  });
  const close = () => setParameters({ rule: null }, { replace: false });
  return (
    <Pane label="The rule" title={<span class="mono">{safeText(name)}</span>} onClose={close}>
      <div class="inside stack">
        <div class="line">
          <Status look={stateLook(rule)} badge />
          <span class="quiet cut">for {safeText(rule.owner)}</span>
        </div>
        <div class="actions">
          {rule.enabled ? (
            <Action small label="Switch off …" onClick={() => (asking.value = 'off')} />
          ) : (
            <Action small label="Switch on" may={{ may: false, why: SIGNED }} onClick={() => {}} />
          )}
          <Action small label="Delete …" tone="danger" onClick={() => (asking.value = 'delete')} />
        </div>
        {!rule.enabled && <Command text={musterCommand('rule', 'set', name, '--enable')} />}
        <dl class="facts">
          <dt>on</dt>
          <dd>{safeText(rule.on)}</dd>
          <dt>starts</dt>
          <dd>{safeText(startsText(rule))}</dd>
          <dt>with</dt>
          <dd>{safeText(JSON.stringify(rule.runbook?.parameters ?? rule.task ?? rule.job))}</dd>
          <dt>at most</dt>
          <dd>{atMostText(rule)}</dd>
          {rule.not_during.length > 0 && (
            <>
              <dt>not during</dt>
              <dd>
                {safeText(rule.not_during.join(', '))} ({safeText(rule.blackout)})
              </dd>
            </>
          )}
          {rule.runbook !== null && (
            <>
              <dt>if others have to agree</dt>
              <dd>
                {rule.asks === 'once' ? 'they are asked once, about the rule' : 'they are asked about each run'}
                {rule.approval !== null && (
                  <>
                    {': '}
                    <a href={hrefOf(api.org, { name: 'approvals' }, { status: 'started', open: rule.approval })}>
                      granted
                    </a>
                  </>
                )}
              </dd>
            </>
          )}
          <dt>skipped</dt>
          <dd>{number(rule.skipped)}</dd>
        </dl>
        <p>
          <a href={hrefOf(api.org, { name: 'events' }, { q: rule.on, from: '-1h' })}>Events like these</a>
        </p>
        <h3>Last</h3>
        <Shown of={runs} what="what it did">
          {(list) => <RunList runs={list} />}
        </Shown>
        <Command text={musterCommand('rule', 'runs', name)} />
        {asking.value === 'off' && (
          <Confirm
            title={`Switch ${safeText(name)} off?`}
            action="Switch it off"
            leave="Leave it on"
            onConfirm={async () => {
              await api.post(`${path}/off`, undefined);
              again();
            }}
            onClose={() => (asking.value = null)}
          >
            <p>It starts nothing until somebody switches it on, which takes a key. What it has started goes on.</p>
            <Command text={musterCommand('rule', 'set', name, '--off')} />
          </Confirm>
        )}
        {asking.value === 'delete' && (
          <Confirm
            title={`Delete ${safeText(name)}?`}
            action="Delete the rule"
            leave="Leave it"
            onConfirm={async () => {
              await api.delete(path);
              close();
              again();
            }}
            onClose={() => (asking.value = null)}
          >
            <p>What it has started goes on.</p>
            <Command text={musterCommand('rule', 'rm', name)} />
          </Confirm>
        )}
      </div>
    </Pane>
  );
}

function RunList({ runs }: { readonly runs: RuleRuns }) {
  const { org } = signedIn().api;
  if (runs.length === 0) return <p class="quiet">It has started nothing yet.</p>;
  return (
    <ul class="why-list">
      {runs.map((run) => (
        <li key={`${run.position} ${run.run}`} class="break">
          <div class="line">
            <Status look={OUTCOMES[run.outcome]} />
            <span class="grow cut mono">{safeText(run.event)}</span>
            {run.run !== null && run.kind === 'task' && <a href={hrefOf(org, { name: 'task', id: run.run })}>task</a>}
            {run.run !== null && run.kind === 'job' && <a href={hrefOf(org, { name: 'long-job', id: run.run })}>job</a>}
            {run.run !== null && run.kind === 'runbook' && run.outcome === 'started' && (
              <a href={hrefOf(org, { name: 'job', id: run.run })}>job</a>
            )}
            <span class="quiet">
              <Ago at={Date.parse(run.at)} word=" ago" />
            </span>
          </div>
          {run.reason !== null && <span class="quiet">{safeText(run.reason)}</span>}
        </li>
      ))}
    </ul>
  );
}
