import { useComputed } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import type { FleetNode } from '../live/fleet.js';
import { go, place, setParameters } from '../navigation.js';
import { Command } from '../parts/command.jsx';
import { Failure, Note, Waiting } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Save } from '../parts/save.jsx';
import { SelectorField } from '../parts/selector-field.jsx';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { Ago } from '../parts/time.jsx';
import { NewJob } from '../push/new-job-link.jsx';
import { shortId } from '../push/parts.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { OWNER_LOOKS } from '../statuses/nodes.js';
import { type Column, Table } from '../table/table.jsx';
import { AddMachine } from './add-machine.jsx';
import { Comparison } from './comparison.jsx';
import { NoNodes } from './empty.jsx';
import { Grouping } from './grouping.jsx';
import { namesTold, valuesTold } from './groups.js';
import { type OrderedNodes, orderedNodes } from './order.js';
import { attributeWords, isOwner, osOf, SORTS, whereOf } from './rows.js';
import { Selected, select } from './selected.jsx';
import { selectionOf, toggled } from './selection.js';

/** Find nodes, and do something with them. */
export function NodesScreen() {
  const { store, api } = signedIn();
  const { org } = api;
  const loaded = store.fleet.loaded;
  const { query } = place.value;
  const q = query.get('q') ?? '';
  const owner = query.get('owner');
  const sort = query.get('sort') ?? 'name';
  const group = query.get('group') ?? '';
  const compare = query.get('compare');
  const given = query.get('selected') ?? '';
  const selected = useMemo(() => selectionOf(given), [given]);
  const columns = useMemo(() => columnsOf(org), [org]);
  const ordered = useRef<OrderedNodes | null>(null);
  const fleet = useComputed(() => (loaded.value.state === 'ready' ? loaded.value.value : null));
  // What nodes tell of themselves changes seldom: it is looked through again when nodes come and go.
  const size = useComputed(() => fleet.value?.size ?? 0);
  const names = useComputed(() => (size.value === 0 ? [] : namesTold(fleet.peek() ?? new Map())));
  const words = useComputed(() => attributeWords(names.value));
  if (loaded.value.state === 'failed') {
    return (
      <>
        <h1>Nodes</h1>
        <Failure error={loaded.value.error} again={() => void store.fleet.reload()} />
      </>
    );
  }
  const { value: nodes } = fleet;
  if (nodes === null) {
    return (
      <>
        <h1>Nodes</h1>
        <section class="card">
          <Waiting what="nodes" />
        </section>
      </>
    );
  }
  ordered.current = orderedNodes(ordered.current, nodes, q, sort);
  const { rows: matching } = ordered.current;
  const rows = isOwner(owner) ? (matching ?? []).filter((node) => node.owner === owner) : (matching ?? []);
  const chosen = selected.size === 0 ? [] : rows.flatMap(({ name }) => (selected.has(name) ? [name] : []));
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Nodes</h1>
        </div>
        <div class="actions">
          {nodes.size > 0 && <AddMachine />}
          <NewJob />
        </div>
      </div>
      {nodes.size === 0 ? (
        <section class="card">
          <NoNodes />
        </section>
      ) : (
        <>
          <SelectorField
            id="nodes-filter"
            label="Which nodes"
            value={q}
            placeholder="role:web AND env:prod"
            sugar
            words={words.value}
            valuesOf={(name) => valuesTold(nodes, name)}
            onValue={(text) => setParameters({ q: text })}
          />
          <Grouping
            nodes={group === '' ? (matching ?? []) : rows}
            names={names.value}
            q={q}
            group={group}
            owner={owner}
          />
          {owner !== null && !isOwner(owner) && <Note>There is no state {safeText(owner)}; all are shown.</Note>}
          {!(SORTS as readonly string[]).includes(sort.replace('-', '')) && (
            <Note>There is no column {safeText(sort)} to sort by.</Note>
          )}
          {compare !== null && <Comparison fleet={nodes} names={compare} />}
          <section class="card">
            {matching === null ? (
              <div class="inside">
                <Note>The filter in the address cannot be read. See what is wrong with it above.</Note>
              </div>
            ) : rows.length === 0 ? (
              <div class="empty">
                <h2>No node matches</h2>
                <p class="quiet">Of {plural(nodes.size, 'node')}, none is what the filter says.</p>
                <button type="button" class="button" onClick={() => setParameters({ q: null, owner: null })}>
                  Show all nodes
                </button>
              </div>
            ) : (
              <Table
                label="Nodes"
                columns={columns}
                below={below}
                rows={rows}
                keyOf={({ name }) => name}
                onOpen={({ name }) => go(hrefOf(org, { name: 'node', node: name }))}
                sort={sort}
                onSort={(column) => setParameters({ sort: sort === column ? `-${column}` : column })}
                selected={selected}
                onSelect={({ name }) => select(toggled(selected, name))}
              />
            )}
            {chosen.length > 0 && <Selected names={chosen} />}
          </section>
          <div class="line wraps">
            <span class="quiet number grow">
              {number(rows.length)} of {number(nodes.size)}
            </span>
            <Save name="nodes" rows={() => rows} none={rows.length === 0} />
            {rows.length > 0 && q !== '' && (
              <a href={hrefOf(org, { name: 'new-job' }, { q })}>Run a command on all that match</a>
            )}
          </div>
          <Command text={musterCommand('node', 'list', whereOf(q, isOwner(owner) ? owner : null))} />
        </>
      )}
    </>
  );
}

function labelsText(labels: FleetNode['labels']): string {
  return safeText(
    Object.entries(labels)
      .map(([name, value]) => `${name}:${value}`)
      .join('  '),
  );
}

function whyDown({ owner, reason }: FleetNode): string | null {
  return owner === 'down' ? reason : null;
}

/** Where there is little room. */
function below(node: FleetNode): string {
  const { job, labels } = node;
  const why = safeText(whyDown(node) ?? '');
  const told = [why, job === null ? '' : `job ${shortId(job)}`, safeText(osOf(node)), labelsText(labels)];
  return told.filter((part) => part !== '').join(' · ');
}

function columnsOf(org: string): readonly Column<FleetNode>[] {
  return [
    {
      id: 'name',
      head: 'Name',
      track: 'minmax(0, 1.6fr)',
      sortable: true,
      cell: ({ name, via }) => (
        <>
          <a class="mono" tabIndex={-1} href={hrefOf(org, { name: 'node', node: name })}>
            {safeText(name)}
          </a>
          {via === 'ssh' && (
            <span class="quiet" title="It has no agent: the server runs commands there over ssh">
              {' '}
              ssh
            </span>
          )}
        </>
      ),
    },
    {
      id: 'owner',
      head: 'State',
      track: '110px',
      sortable: true,
      cell: (node) => <Status look={OWNER_LOOKS[node.owner]} />,
    },
    { id: 'since', head: 'For', track: '64px', sortable: true, cell: ({ since }) => <Ago at={since} /> },
    {
      id: 'job',
      head: 'Job, or why down',
      track: 'minmax(130px, 2.4fr)',
      wide: true,
      cell: (node) => {
        const { job } = node;
        const why = safeText(whyDown(node) ?? '–');
        return job === null ? (
          <span class="quiet" title={why}>
            {why}
          </span>
        ) : (
          <a class="mono" tabIndex={-1} href={hrefOf(org, { name: 'job', id: job })}>
            {shortId(job)}
          </a>
        );
      },
    },
    {
      id: 'os',
      head: 'OS',
      track: '90px',
      wide: true,
      sortable: true,
      cell: (node) => safeText(osOf(node) === '' ? '–' : osOf(node)),
    },
    {
      id: 'labels',
      head: 'Labels',
      track: 'minmax(0, 1.6fr)',
      wide: true,
      cell: ({ labels }) => <span class="quiet">{labelsText(labels)}</span>,
    },
  ];
}
