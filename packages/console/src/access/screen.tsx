import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Access, EnrolTokens, Groups, NodeGroups, WhoMayRun } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { place, setParameters } from '../navigation.js';
import { Command } from '../parts/command.jsx';
import { Glyph } from '../parts/glyph.jsx';
import { Shown } from '../parts/loaded.jsx';
import { Note } from '../parts/note.jsx';
import { plural } from '../parts/numbers.js';
import { Pane, Panes } from '../parts/pane.jsx';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Tabs } from '../parts/tabs.jsx';
import { Ago } from '../parts/time.jsx';
import { type AccessPart, hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';
import { type Column, Table } from '../table/table.jsx';
import { SessionList } from './sessions.jsx';

const TOLD = "type LIKE 'auth.%'";

const PARTS: readonly (readonly [AccessPart, string])[] = [
  ['people', 'Who may what'],
  ['groups', 'Groups'],
  ['node-groups', 'Node groups'],
  ['tokens', 'Enrolment tokens'],
  ['sessions', 'Sessions'],
];

const COMMANDS: Readonly<Record<AccessPart, string>> = {
  people: 'muster user list',
  groups: 'muster group list',
  'node-groups': 'muster node-group list',
  tokens: 'muster token list',
  sessions: 'muster session list',
};

/** Who may do what, where, and why. */
export function AccessScreen({ part }: { readonly part: AccessPart }) {
  const { org } = signedIn().api;
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Access</h1>
        </div>
      </div>
      <Tabs label="Access" chosen={part} bare>
        {PARTS.map(([id, word]) => (
          <a key={id} href={hrefOf(org, { name: 'access', part: id })} aria-current={part === id ? 'true' : undefined}>
            {word}
          </a>
        ))}
      </Tabs>
      <Part part={part} />
      <Command text={COMMANDS[part]} />
    </>
  );
}

function Part({ part }: { readonly part: AccessPart }) {
  const admin = mayI('org:admin');
  if (!admin.may && (part === 'people' || part === 'tokens')) return <Note>To see this {admin.why}.</Note>;
  switch (part) {
    case 'people':
      return <People />;
    case 'groups':
      return <GroupList />;
    case 'node-groups':
      return <NodeGroupList />;
    case 'tokens':
      return <Tokens />;
    case 'sessions':
      return (
        <section class="card">
          <SessionList whose="everybody" />
        </section>
      );
  }
}

type Person = Access[number];
type Reason = Person['permissions'][number]['by'][number];

/** Work that people ask about first; the rest is in the pane of each. */
const SHOWN = [
  ['org:admin', 'administer'],
  ['push:read', 'see push jobs'],
  ['push:execute', 'run on some'],
  ['push:write', 'run on all'],
  ['task:write', 'tasks'],
  ['job:use', 'jobs'],
  ['job:admin', 'all jobs'],
] as const;

function People() {
  const { api } = signedIn();
  const kept = useReading({ key: '', read: (signal) => api.get<Access>('/access', {}, signal), selector: TOLD });
  const open = place.value.query.get('open');
  return (
    <Shown of={kept} what="who may what">
      {(people) => {
        const person = people.find((each) => keyOf(each) === open);
        return (
          <>
            <Question people={people} />
            <Panes open={person !== undefined}>
              <section class="card">
                <Table
                  label="Who may what"
                  columns={person === undefined ? COLUMNS : FEW_COLUMNS}
                  rows={people}
                  keyOf={keyOf}
                  onOpen={(each) => setParameters({ open: keyOf(each) })}
                  open={open}
                />
              </section>
              {person !== undefined && <PersonPane person={person} />}
            </Panes>
            <p class="quiet">
              What changes who may do what takes a request that is signed with a key, which no browser has.
            </p>
            <Command text="muster group add push_job_writers --user alice" />
          </>
        );
      }}
    </Shown>
  );
}

function keyOf({ kind, name }: Person): string {
  return `${kind}:${name}`;
}

const NAME: Column<Person> = {
  id: 'name',
  head: 'Who',
  track: 'minmax(0, 1.4fr)',
  cell: ({ kind, name }) => (
    <>
      {safeText(name)} <span class="quiet">{kind === 'service' && 'service'}</span>
    </>
  ),
};

const COLUMNS: readonly Column<Person>[] = [
  NAME,
  ...SHOWN.map(
    ([permission, word], index): Column<Person> => ({
      id: permission,
      head: word,
      track: 'minmax(0, 1fr)',
      wide: index > 0,
      cell: ({ permissions }) => <Cell holding={permissions.find((each) => each.permission === permission)} />,
    }),
  ),
];
/** Beside the pane of one of them. */
const FEW_COLUMNS = COLUMNS.filter(({ id }) => ['name', 'org:admin', 'push:execute', 'push:write'].includes(id));

function Cell({ holding }: { readonly holding: Person['permissions'][number] | undefined }) {
  if (holding === undefined) return <span class="quiet">–</span>;
  const text = holding.by.map(reasonText).join(', ');
  return (
    <span class="ok" title={text}>
      <Glyph name="check" /> {text === '' ? 'all together' : safeText(text)}
    </span>
  );
}

function reasonText({ kind, name }: Reason): string {
  switch (kind) {
    case 'member':
      return 'everybody';
    case 'server_admin':
      return 'server';
    case 'group':
      return name ?? '';
    case 'node_group':
      return `grant on ${name}`;
  }
}

function PersonPane({ person }: { readonly person: Person }) {
  const { org } = signedIn().api;
  const { kind, name, server_admin: admin, groups, node_groups: grants, permissions } = person;
  return (
    <Pane label="Who it is" title={safeText(name)} onClose={() => setParameters({ open: null })}>
      <div class="inside stack">
        <dl class="facts">
          {admin && (
            <>
              <dt>is</dt>
              <dd>server administrator</dd>
            </>
          )}
          <dt>groups</dt>
          <dd>{groups.length === 0 ? 'in none' : safeText(groups.join(', '))}</dd>
          <dt>grants</dt>
          <dd>{grants.length === 0 ? 'on no node group' : safeText(grants.join(', '))}</dd>
        </dl>
        <h3>May</h3>
        <dl class="facts">
          {permissions.map(({ permission, by }) => (
            <>
              <dt>{permission}</dt>
              <dd>{safeText(by.map(reasonText).join(', ') || 'all together')}</dd>
            </>
          ))}
        </dl>
        <p class="actions">
          <a class="button small" href={hrefOf(org, { name: 'audit' }, { actor: name })}>
            What they did
          </a>
        </p>
        {kind === 'user' && <Command text={musterCommand('user', 'show', name)} />}
      </div>
    </Pane>
  );
}

/** “May alice run on db1?”, answered in a sentence. */
function Question({ people }: { readonly people: Access }) {
  const { store } = signedIn();
  const { query } = place.value;
  const [who, node] = [query.get('who') ?? '', query.get('node') ?? ''];
  const fleet = store.fleet.loaded.value;
  const nodes = fleet.state === 'ready' ? [...fleet.value.keys()].slice(0, 1000) : [];
  return (
    <section class="card">
      <div class="inside filters">
        <Field id="who" label="May" value={who} placeholder="alice" words={people.map(({ name }) => name)} />
        <Field id="node" label="run commands on" value={node} placeholder="db1" words={nodes} />
      </div>
      {who !== '' && node !== '' && <Verdict key={`${who} ${node}`} who={who} node={node} />}
    </section>
  );
}

function Field({
  id,
  label,
  value,
  placeholder,
  words,
}: {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly placeholder: string;
  readonly words: readonly string[];
}) {
  return (
    <div class="field">
      <label for={`access-${id}`}>{label}</label>
      <input
        id={`access-${id}`}
        class="input"
        value={value}
        placeholder={placeholder}
        list={`access-${id}-words`}
        autocomplete="off"
        spellcheck={false}
        {...(id === 'who' && { 'data-filter': true })}
        onChange={(event) => setParameters({ [id]: event.currentTarget.value.trim() })}
      />
      <datalist id={`access-${id}-words`}>
        {words.map((word) => (
          <option key={word} value={word} />
        ))}
      </datalist>
    </div>
  );
}

function Verdict({ who, node }: { readonly who: string; readonly node: string }) {
  const { api } = signedIn();
  const kept = useReading({
    key: '',
    read: (signal) => api.get<WhoMayRun>(`/nodes/${encodeURIComponent(node)}/who`, { name: who }, signal),
    selector: TOLD,
  });
  return (
    <div class="inside" role="status">
      <Shown of={kept} what="the answer">
        {({ principals }) =>
          principals.length === 0 ? (
            <p>Nobody in the organization is called {safeText(who)}.</p>
          ) : (
            principals.map(({ kind, may, why }) => (
              <p key={kind} class="line">
                <Glyph name={may ? 'check' : 'ban'} tone={may ? 'ok' : 'bad'} />
                <span class="break">{safeText(why)} What the owner of the node allows there is another question.</span>
              </p>
            ))
          )
        }
      </Shown>
    </div>
  );
}

function Members({
  of,
}: {
  readonly of: {
    readonly users: readonly string[];
    readonly clients: readonly string[];
    readonly groups: readonly string[];
  };
}) {
  const all = [...of.users, ...of.clients.map((name) => `client:${name}`), ...of.groups.map((name) => `group:${name}`)];
  return <span class="quiet break">{all.length === 0 ? 'nobody' : safeText(all.join(', '))}</span>;
}

function List({ children }: { readonly children: ComponentChildren }) {
  return (
    <section class="card">
      <ul class="lines">{children}</ul>
    </section>
  );
}

function GroupList() {
  const { api } = signedIn();
  const kept = useReading({ key: '', read: (signal) => api.get<Groups>('/groups', {}, signal), selector: TOLD });
  return (
    <>
      <Shown of={kept} what="groups">
        {(groups) => (
          <List>
            {groups.map((group) => (
              <li key={group.name}>
                <div class="line">
                  <strong class="grow break">{safeText(group.name)}</strong>
                  {group.exclusive && <span class="quiet">exclusive: admins hold it only as members</span>}
                </div>
                <Members of={group} />
              </li>
            ))}
          </List>
        )}
      </Shown>
      <Command text="muster group create push_job_writers --user alice" />
    </>
  );
}

function NodeGroupList() {
  const { api } = signedIn();
  const { org } = api;
  const kept = useReading({
    key: '',
    read: (signal) => api.get<NodeGroups>('/node_groups', {}, signal),
    selector: TOLD,
  });
  return (
    <Shown of={kept} what="node groups">
      {(groups) =>
        groups.length === 0 ? (
          <section class="card">
            <div class="empty">
              <h2>No node group yet</h2>
              <p>A node group names nodes, or a search for them, and may say who runs commands on them.</p>
              <Command text="muster node-group create prod-db --query 'role:db AND env:prod'" />
              <Command text="muster node-group grant prod-db --group dba" />
            </div>
          </section>
        ) : (
          <List>
            {groups.map(({ name, nodes, query, execute }) => (
              <li key={name}>
                <div class="line">
                  <strong class="grow break">{safeText(name)}</strong>
                  {query === null ? (
                    <span class="quiet">{plural(nodes?.length ?? 0, 'node')} by name</span>
                  ) : (
                    <a class="mono cut" href={hrefOf(org, { name: 'nodes' }, { q: query })}>
                      {safeText(query)}
                    </a>
                  )}
                </div>
                <span>
                  <span class="quiet">commands are for </span>
                  {execute.users.length + execute.clients.length + execute.groups.length === 0 ? (
                    <span class="quiet">whoever has push:write</span>
                  ) : (
                    <Members of={execute} />
                  )}
                </span>
              </li>
            ))}
          </List>
        )
      }
    </Shown>
  );
}

function Tokens() {
  const { api } = signedIn();
  const all = useSignal(false);
  const kept = useReading({ key: '', read: (signal) => api.get<EnrolTokens>('/tokens', {}, signal), selector: TOLD });
  const good = ({ expires_at: end, uses_left: uses }: EnrolTokens[number]): boolean =>
    Date.parse(end) > Date.now() && uses > 0;
  return (
    <Shown of={kept} what="enrolment tokens">
      {(tokens) => {
        const shown = tokens.filter((token) => all.value || good(token));
        return (
          <>
            <div class="choices">
              <button type="button" class="chip" aria-pressed={all.value} onClick={() => (all.value = !all.value)}>
                also those that are used up
              </button>
            </div>
            <section class="card">
              {shown.length === 0 ? (
                <div class="empty">
                  <h2>No enrolment token can be used</h2>
                  <p>With a token agents register their own keys. It is good for so many machines, and for a time.</p>
                  <Command text="muster token create --uses 10 --ttl 1h" />
                </div>
              ) : (
                <ul class="lines">
                  {shown.map((token) => (
                    <li key={token.id}>
                      <div class="line wraps">
                        <span class="grow break">
                          <code>{token.id}</code>{' '}
                          <span class="quiet">
                            by {safeText(token.created_by)}, <Ago at={Date.parse(token.created_at)} word=" ago" />
                          </span>
                        </span>
                        <span class="quiet">
                          {good(token) ? `${plural(token.uses_left, 'use')} left, until ` : 'no longer good, '}
                          <time dateTime={token.expires_at}>{new Date(token.expires_at).toLocaleString()}</time>
                        </span>
                      </div>
                      {good(token) && <Command text={musterCommand('token', 'rm', token.id)} />}
                    </li>
                  ))}
                </ul>
              )}
            </section>
          </>
        );
      }}
    </Shown>
  );
}
