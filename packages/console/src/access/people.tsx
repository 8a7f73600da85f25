import type { Access } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { place, setParameters } from '../navigation.js';
import { Command } from '../parts/command.jsx';
import { Glyph } from '../parts/glyph.jsx';
import { Shown } from '../parts/loaded.jsx';
import { Pane, Panes } from '../parts/pane.jsx';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { type Column, Table } from '../table/table.jsx';
import { Question } from './question.jsx';
import { TOLD } from './told.js';
import { WORDS } from './words.js';

type Person = Access[number];
type Reason = Person['permissions'][number]['by'][number];

/** Who may do what, and which group or grant gives it to them. */
export function People() {
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
                  below={below}
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
  ...WORDS.map(
    ([permission, word]): Column<Person> => ({
      id: permission,
      head: word,
      track: 'minmax(0, 1fr)',
      wide: true,
      cell: ({ permissions }) => <Cell holding={permissions.find((each) => each.permission === permission)} />,
    }),
  ),
];
/** Beside the pane of one of them. */
const FEW_COLUMNS = COLUMNS.filter(({ id }) => ['name', 'org:admin', 'push:execute', 'push:write'].includes(id));

/** What goes without saying where there is little room. */
const LESS: Readonly<Record<string, string>> = { 'push:execute': 'push:write', 'job:use': 'job:admin' };

/** Where there is little room. */
function below({ permissions }: Person): string {
  const may = new Set<string>(permissions.map(({ permission }) => permission));
  const words = WORDS.flatMap(([name, word]) => (may.has(name) && !may.has(LESS[name] ?? '') ? [word] : []));
  if (words.length > 0) return words.join(', ');
  return may.size === 0 ? 'nothing' : `only ${[...may].join(', ')}`;
}

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
