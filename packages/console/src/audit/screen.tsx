import { useMemo } from 'preact/hooks';
import type { Answer, Api } from '../api/client.js';
import type { AuditEntries } from '../api/types.gen.js';
import { usePages } from '../live/pages.js';
import { useReading } from '../live/reading.js';
import { place, setParameters } from '../navigation.js';
import { Command } from '../parts/command.jsx';
import { equals } from '../parts/equals.js';
import { Shown } from '../parts/loaded.jsx';
import { Note } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { NotAmong, Pane, Panes } from '../parts/pane.jsx';
import { safeText } from '../parts/safe-text.js';
import { Save } from '../parts/save.jsx';
import { faultOf, SelectorField } from '../parts/selector-field.jsx';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { TextFilter } from '../parts/text-filter.jsx';
import { Ago } from '../parts/time.jsx';
import { mayI, signedIn } from '../session/session.js';
import { type Column, Table } from '../table/table.jsx';
import { type Entry, finds, objectHref, targetText, WORDS } from './entries.js';

const PAGE = 1000;
/** Most pages that are looked through for what is searched. */
const MOST_PAGES = 20;

const SINCES = [
  ['', 'as long as it is kept'],
  ['1h', 'the last hour'],
  ['1d', 'the last day'],
  ['7d', 'the last week'],
  ['30d', 'the last 30 days'],
] as const;
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Who did what, and what was denied. */
export function AuditScreen() {
  const admin = mayI('org:admin');
  const { query } = place.value;
  const given = (name: string) => query.get(name) ?? '';
  const [q, actor, action, since] = [given('q'), given('actor'), given('action'), given('since')];
  const sinceMs = durationOf(since);
  const readable = faultOf(q, true) === null;
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Audit</h1>
        </div>
      </div>
      <div class="filters">
        <div class="grow">
          <SelectorField
            id="audit-filter"
            label="Which entries"
            value={q}
            placeholder="outcome:denied AND NOT actor:admin"
            sugar
            words={WORDS}
            onValue={(text) => setParameters({ q: text, entry: null })}
          />
        </div>
        <TextFilter
          id="audit-actor"
          label="Who"
          value={actor}
          placeholder="alice"
          onValue={(text) => setParameters({ actor: text, entry: null })}
        />
        <TextFilter
          id="audit-action"
          label="Action"
          value={action}
          placeholder="push.start"
          onValue={(text) => setParameters({ action: text, entry: null })}
        />
        <div class="field">
          <label for="audit-since">From</label>
          <select
            id="audit-since"
            class="input"
            value={since}
            onChange={(event) => setParameters({ since: event.currentTarget.value, entry: null })}
          >
            {SINCES.map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
            {SINCES.every(([value]) => value !== since) && <option value={since}>{since}</option>}
          </select>
        </div>
      </div>
      {sinceMs === null && <Note>“{safeText(since)}” is no time to begin at: 30m, 1h, 7d.</Note>}
      {!admin.may && <Note>To see this {admin.why}.</Note>}
      {admin.may && readable && sinceMs !== null && <Entries q={q} actor={actor} action={action} sinceMs={sinceMs} />}
      <Command
        text={musterCommand(
          'audit',
          ...(actor === '' ? [] : ['--actor', actor]),
          ...(action === '' ? [] : ['--action', action]),
        )}
      />
    </>
  );
}

/** Infinity: from the beginning; null: it cannot be read. */
function durationOf(text: string): number | null {
  if (text === '') return Number.POSITIVE_INFINITY;
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * (UNITS[unit] ?? 0);
}

interface Filter {
  readonly q: string;
  readonly actor: string;
  readonly action: string;
  readonly sinceMs: number;
}

interface Found {
  readonly entries: readonly Entry[];
  /** How many were looked at, of which these match. */
  readonly seen: number;
  /** There are older ones. */
  readonly more: boolean;
}

async function readEntries(
  api: Api,
  { q, actor, action, sinceMs }: Filter,
  pages: number,
  signal?: AbortSignal,
): Promise<Answer<Found>> {
  const matches = finds(q);
  const since = Date.now() - sinceMs;
  const entries: Entry[] = [];
  let seen = 0;
  let position: number | null = null;
  let before: number | undefined;
  for (let page = 0; page < pages; page += 1) {
    const answer: Answer<AuditEntries> = await api.get(
      '/audit',
      { limit: PAGE, before, actor: actor || undefined, action: action || undefined },
      signal,
    );
    position ??= answer.position;
    const young = answer.body.filter(({ at }) => Date.parse(at) >= since);
    seen += young.length;
    entries.push(...young.filter(matches));
    before = answer.body.at(-1)?.id;
    if (answer.body.length < PAGE || young.length < answer.body.length) {
      return { body: { entries, seen, more: false }, position, next: null };
    }
  }
  return { body: { entries, seen, more: true }, position, next: null };
}

function Entries(filter: Filter) {
  const { api } = signedIn();
  const columns = useMemo(() => columnsOf(api.org), [api.org]);
  const key = JSON.stringify(filter);
  const pages = usePages(key);
  const kept = useReading({
    key: `${key} ${pages.value}`,
    read: (signal) => readEntries(api, filter, pages.value, signal),
    selector: "type = 'audit.sealed'",
  });
  const open = place.value.query.get('entry');
  return (
    <Shown of={kept} what="the audit">
      {({ entries, seen, more }) => {
        const entry = entries.find(({ id }) => String(id) === open);
        return (
          <>
            <div class="line">
              <span class="quiet number grow" role="status">
                {plural(entries.length, 'entry', 'entries')}
                {entries.length < seen && ` of ${number(seen)} that were looked at`}
              </span>
              <Save name="audit" rows={() => entries} none={entries.length === 0} />
            </div>
            {open !== null && entry === undefined && (
              <NotAmong what={`Entry ${open}`} onClose={() => setParameters({ entry: null })} />
            )}
            <Panes open={entry !== undefined}>
              <section class="card">
                {entries.length === 0 ? (
                  <div class="empty">
                    <h2>No entry matches</h2>
                    <p>
                      Who signed in, what was started, changed and denied is recorded, and sealed so that nobody can
                      change it unseen.
                    </p>
                    <Command text="muster audit verify" />
                  </div>
                ) : (
                  <Table
                    label="Audit"
                    columns={columns}
                    rows={entries}
                    keyOf={({ id }) => String(id)}
                    onOpen={({ id }) => setParameters({ entry: String(id) })}
                    open={open}
                  />
                )}
              </section>
              {entry !== undefined && <Detail entry={entry} />}
            </Panes>
            {more &&
              (pages.value < MOST_PAGES ? (
                <p>
                  <button type="button" class="button" onClick={pages.more}>
                    Look further back
                  </button>
                </p>
              ) : (
                <Note>
                  The newest {number(PAGE * MOST_PAGES)} were looked through. Who, action and time find older ones.
                </Note>
              ))}
          </>
        );
      }}
    </Shown>
  );
}

const columnsOf = (org: string): readonly Column<Entry>[] => [
  {
    id: 'at',
    head: 'When',
    track: '92px',
    cell: ({ at }) => (
      <span class="quiet">
        <Ago at={Date.parse(at)} word=" ago" />
      </span>
    ),
  },
  { id: 'actor', head: 'Who', track: 'minmax(0, 1fr)', cell: ({ actor }) => safeText(actor) },
  {
    id: 'action',
    head: 'Action',
    track: 'minmax(0, 1.3fr)',
    cell: ({ action }) => <span class="mono">{safeText(action)}</span>,
  },
  {
    id: 'target',
    head: 'To',
    track: 'minmax(0, 1.8fr)',
    wide: true,
    cell: (entry) => {
      const href = objectHref(org, entry);
      const text = safeText(targetText(entry));
      if (href === null) return <span title={safeText(entry.target)}>{text}</span>;
      return (
        <a class="away" tabIndex={-1} href={href} title={safeText(entry.target)}>
          {text}
        </a>
      );
    },
  },
  {
    id: 'outcome',
    head: 'Outcome',
    track: '100px',
    cell: ({ outcome }) =>
      outcome === 'done' ? (
        <Status look={{ glyph: 'check', word: 'done', tone: 'ok' }} />
      ) : (
        <Status look={{ glyph: 'ban', word: outcome, tone: 'bad' }} />
      ),
  },
  {
    id: 'address',
    head: 'Address',
    track: '120px',
    wide: true,
    cell: ({ address }) => <span class="quiet">{safeText(address ?? '–')}</span>,
  },
];

function Detail({ entry }: { readonly entry: Entry }) {
  const { org } = signedIn().api;
  const object = objectHref(org, entry);
  const only = (text: string) => setParameters({ q: text, entry: null }, { replace: false });
  const facts: readonly (readonly [string, string])[] = [
    ['number', String(entry.id)],
    ['time', entry.at],
    ['who', `${entry.actor} (${entry.actor_kind})`],
    ['to', entry.target],
    ['outcome', entry.outcome],
    ['address', entry.address ?? '–'],
    ...Object.entries(entry.detail).map(([name, value]) => [name, String(value ?? '–')] as const),
  ];
  return (
    <Pane
      label="The entry"
      title={<span class="mono">{safeText(entry.action)}</span>}
      onClose={() => setParameters({ entry: null })}
    >
      <div class="inside event">
        <dl class="facts">
          {facts.map(([name, value]) => (
            <>
              <dt class="break">{safeText(name)}</dt>
              <dd>{safeText(value)}</dd>
            </>
          ))}
        </dl>
        <div class="actions">
          {object !== null && (
            <a class="button small" href={object}>
              Open what it is about
            </a>
          )}
          <button type="button" class="button small" onClick={() => only(equals('actor', entry.actor))}>
            Only this one
          </button>
          <button type="button" class="button small" onClick={() => only(equals('action', entry.action))}>
            Only this action
          </button>
          {entry.target !== '' && (
            <button type="button" class="button small" onClick={() => only(equals('target', entry.target))}>
              Only this target
            </button>
          )}
        </div>
      </div>
    </Pane>
  );
}
