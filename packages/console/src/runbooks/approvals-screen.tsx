import { useSignal } from '@preact/signals';
import type { Approval, Approvals } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { place, setParameters } from '../navigation.js';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { Listed } from '../parts/listed.jsx';
import { Shown } from '../parts/loaded.jsx';
import { Note } from '../parts/note.jsx';
import { Pane } from '../parts/pane.jsx';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { Ago } from '../parts/time.jsx';
import { timeText } from '../parts/when.js';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import type { Look } from '../statuses/look.js';
import type { Column } from '../table/table.jsx';
import { decidersOf, subjectOf } from './subject.js';

const STATUSES = ['pending', 'started', 'denied', 'expired'] as const;
type ApprovalStatus = Approvals[number]['status'];

const LOOKS: Readonly<Record<ApprovalStatus, Look>> = {
  pending: { glyph: 'clock', word: 'waits', tone: 'run' },
  started: { glyph: 'check', word: 'granted', tone: 'ok' },
  denied: { glyph: 'ban', word: 'refused', tone: 'bad' },
  expired: { glyph: 'dash', word: 'expired', tone: 'idle' },
};

/** What waits for a second person, and what became of the rest. */
export function ApprovalsScreen() {
  const { api } = signedIn();
  const { query } = place.value;
  const asked = query.get('status') ?? 'pending';
  const open = query.get('open');
  const status = STATUSES.find((each) => each === asked);
  const kept = useReading({
    key: '',
    read: (signal) => api.get<Approvals>('/approvals', {}, signal),
    selector: "type LIKE 'approval.%'",
  });
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Approvals</h1>
        </div>
      </div>
      <div class="choices">
        {STATUSES.map((each) => (
          <button
            key={each}
            type="button"
            class="chip"
            aria-pressed={status === each}
            onClick={() => setParameters({ status: status === each ? 'all' : each, open: null })}
          >
            <Status look={LOOKS[each]} />
          </button>
        ))}
      </div>
      {status === undefined && asked !== 'all' && <Note>There is no status {safeText(asked)}; all are shown.</Note>}
      <Listed
        of={kept}
        what={['approvals', 'approval']}
        label="Approvals"
        columns={COLUMNS}
        keyOf={({ id }) => id}
        // Whoever has opened one sees it, whatever became of it.
        filter={(all) => all.filter((each) => status === undefined || each.status === status || each.id === open)}
        empty={() => (
          <>
            <h2>{status === 'pending' ? 'Nothing waits for a second person' : 'None'}</h2>
            <p>
              With <code>approval</code> in a runbook, or by a policy, what somebody starts waits for others, who see
              exactly what it is.
            </p>
            <Command text="muster org set default --approval runbooks" />
          </>
        )}
        pane={{
          parameter: 'open',
          of: ({ id, status: now }) => <Detail key={`${id} ${now}`} id={id} again={kept.again} />,
        }}
      />
      <Command text={open === null ? 'muster approval list' : musterCommand('approval', 'show', open)} />
    </>
  );
}

const COLUMNS: readonly Column<Approvals[number]>[] = [
  { id: 'what', head: 'What', track: 'minmax(0, 1fr)', cell: (approval) => safeText(subjectOf(approval)) },
  { id: 'status', head: 'Status', track: '100px', cell: ({ status }) => <Status look={LOOKS[status]} /> },
  {
    id: 'command',
    head: 'Runs',
    track: 'minmax(0, 1.6fr)',
    wide: true,
    cell: ({ command }) => <span class="mono">{safeText(command)}</span>,
  },
  { id: 'by', head: 'Asked by', track: 'minmax(0, 0.7fr)', cell: ({ asked_by: by }) => safeText(by) },
  { id: 'at', head: 'For', track: '72px', end: true, cell: ({ created_at: at }) => <Ago at={Date.parse(at)} /> },
];

function Detail({ id, again }: { readonly id: string; readonly again: () => void }) {
  const { api, session } = signedIn();
  const { org } = api;
  const kept = useReading({
    key: id,
    read: (signal) => api.get<Approval>(`/approvals/${encodeURIComponent(id)}`, {}, signal),
    selector: null,
  });
  const asking = useSignal<'grant' | 'deny' | null>(null);
  const reason = useSignal('');
  return (
    <Pane
      label="The approval"
      title={kept.loaded.state === 'ready' ? safeText(subjectOf(kept.loaded.value)) : 'Approval'}
      onClose={() => setParameters({ open: null })}
    >
      <Shown of={kept} what="the approval">
        {(approval) => {
          const own = approval.asked_by === session.user;
          const facts: readonly (readonly [string, string | null])[] = [
            ['runs', approval.command],
            ['on', approval.target],
            ...Object.entries(approval.parameters).map(([name, value]) => [name, value] as const),
            ['version', approval.version === null ? null : String(approval.version)],
            ['asked by', approval.asked_by],
            ['until', timeText(Date.parse(approval.expires_at))],
            ...approval.needs.map(({ why, grants, by }) => {
              return ['needs', `${grants} for ${why}${by.length === 0 ? '' : `: ${by.join(', ')}`}`] as const;
            }),
            ...approval.agreed.map(({ by }) => ['agreed', by] as const),
            ['decided by', approval.decided_by],
            ['reason', approval.reason],
            ['hash', approval.hash],
          ];
          return (
            <div class="inside event">
              <p>
                <Status look={LOOKS[approval.status]} badge />
              </p>
              <dl class="facts">
                {facts.flatMap(([name, value]) =>
                  value === null
                    ? []
                    : [
                        <>
                          <dt class="break">{safeText(name)}</dt>
                          <dd>{safeText(value)}</dd>
                        </>,
                      ],
                )}
              </dl>
              {approval.status === 'pending' && !approval.may_deny && (
                <Note>It is not yours to decide. Who may: {safeText(decidersOf(approval))}.</Note>
              )}
              <div class="actions">
                {approval.may_deny && (
                  <>
                    <Action
                      label="Approve …"
                      tone="main-action"
                      may={approval.may_grant ? { may: true } : { may: false, why: 'you have asked for it yourself' }}
                      onClick={() => (asking.value = 'grant')}
                    />
                    <Action
                      label={own ? 'Take it back …' : 'Refuse …'}
                      tone="danger"
                      onClick={() => (asking.value = 'deny')}
                    />
                  </>
                )}
                {approval.job !== null && (
                  <a class="button" href={hrefOf(org, { name: 'job', id: approval.job })}>
                    Open the push job
                  </a>
                )}
                {approval.runbook !== null && (
                  <a class="button" href={hrefOf(org, { name: 'runbook', runbook: approval.runbook })}>
                    Open the runbook
                  </a>
                )}
              </div>
              {approval.order !== null && (
                <section class="shown whole" aria-label="Everything that decides what would be started">
                  <pre>{safeText(JSON.stringify(approval.order, null, 2))}</pre>
                </section>
              )}
            </div>
          );
        }}
      </Shown>
      {asking.value === 'deny' && (
        <Confirm
          title="Refuse this run?"
          action="Refuse it"
          leave="Leave it waiting"
          onConfirm={async () => {
            await api.post(
              `/approvals/${encodeURIComponent(id)}/deny`,
              reason.value === '' ? {} : { reason: reason.value },
            );
            again();
          }}
          onClose={() => (asking.value = null)}
        >
          <div class="field">
            <label for="deny-reason">Why</label>
            <input
              id="deny-reason"
              class="input"
              value={reason.value}
              placeholder="not today"
              autocomplete="off"
              onInput={(event) => {
                reason.value = event.currentTarget.value;
              }}
            />
          </div>
          <Command
            text={musterCommand('approval', 'deny', id, ...(reason.value === '' ? [] : ['--reason', reason.value]))}
          />
        </Confirm>
      )}
      {asking.value === 'grant' && (
        <Confirm
          title="Approve this run"
          action="I see"
          tone="main-action"
          onConfirm={() => Promise.resolve()}
          onClose={() => (asking.value = null)}
        >
          <p>
            Who approves signs what is started, with its hash, by a key of their own. No browser has one: run this where
            yours is. This page shows it as soon as it is granted.
          </p>
          <Command text={musterCommand('approval', 'grant', id)} />
        </Confirm>
      )}
    </Pane>
  );
}
