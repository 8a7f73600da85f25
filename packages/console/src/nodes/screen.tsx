import { useComputed, useSignal } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import type { FleetNode } from '../live/fleet.js';
import { go, place, setParameters } from '../navigation.js';
import { Action } from '../parts/action.jsx';
import { ByKey } from '../parts/by-key.jsx';
import { Command } from '../parts/command.jsx';
import { LinkAction } from '../parts/link-action.jsx';
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
import { mayI, signedIn } from '../session/session.js';
import { OWNER_LOOKS } from '../statuses/nodes.js';
import { type Column, Table } from '../table/table.jsx';
import { AddMachine } from './add-machine.jsx';
import { Comparison, MOST_COMPARED } from './comparison.jsx';
import { NoNodes } from './empty.jsx';
import { Grouping } from './grouping.jsx';
import { namesTold } from './groups.js';
import { type OrderedNodes, orderedNodes } from './order.js';
import { attributeWords, isOwner, osOf, SORTS } from './rows.js';

/** Names of nodes that fit into a URL that every browser and proxy takes. */
const MOST_NAMES = 150;

/** Find nodes, and do something with them. */
export function NodesScreen() {
  const { store, api } = signedIn();
  const { org } = api;
  const loaded = store.fleet.loaded;
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const saving = useSignal(false);
  const { query } = place.value;
  const q = query.get('q') ?? '';
  const owner = query.get('owner');
  const sort = query.get('sort') ?? 'name';
  const group = query.get('group') ?? '';
  const compare = query.get('compare');
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
  const chosen = selected.value.size === 0 ? [] : rows.flatMap(({ name }) => (selected.value.has(name) ? [name] : []));
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
                rows={rows}
                keyOf={({ name }) => name}
                onOpen={({ name }) => go(hrefOf(org, { name: 'node', node: name }))}
                sort={sort}
                onSort={(column) => setParameters({ sort: sort === column ? `-${column}` : column })}
                selected={selected.value}
                onSelect={({ name }) => {
                  const next = new Set(selected.value);
                  if (!next.delete(name)) next.add(name);
                  selected.value = next;
                }}
              />
            )}
            {chosen.length > 0 && (
              <div class="selected">
                <strong class="number">{plural(chosen.length, 'node')} selected</strong>
                {chosen.length <= MOST_NAMES && (
                  <LinkAction
                    label={`Run a command on ${chosen.length === 1 ? 'it' : 'them'} …`}
                    may={mayI('push:execute')}
                    href={hrefOf(org, { name: 'new-job' }, { nodes: chosen.join(',') })}
                  />
                )}
                {chosen.length > 1 && (
                  <Action
                    label="Compare"
                    may={
                      chosen.length <= MOST_COMPARED
                        ? { may: true }
                        : { may: false, why: `no more than ${MOST_COMPARED} are compared at once` }
                    }
                    onClick={() => setParameters({ compare: chosen.join(',') }, { replace: false })}
                  />
                )}
                {chosen.length > MOST_NAMES && (
                  <span class="quiet">Use a filter for more than {MOST_NAMES} nodes.</span>
                )}
                {chosen.length <= MOST_NAMES && (
                  <Action
                    label="Save as a node group …"
                    may={mayI('org:admin')}
                    onClick={() => (saving.value = true)}
                  />
                )}
                <button type="button" class="button plain" onClick={() => (selected.value = new Set())}>
                  Clear
                </button>
              </div>
            )}
          </section>
          <div class="line">
            <span class="quiet number grow">
              {number(rows.length)} of {number(nodes.size)}
            </span>
            <Save name="nodes" rows={() => rows} none={rows.length === 0} />
            {rows.length > 0 && q !== '' && (
              <a href={hrefOf(org, { name: 'new-job' }, { q })}>Run a command on all that match</a>
            )}
          </div>
          <Command text={q === '' ? 'muster node list' : musterCommand('node', 'list', q)} />
          {saving.value && <SaveGroup names={chosen} onClose={() => (saving.value = false)} />}
        </>
      )}
    </>
  );
}

/** Grants to a node group say who may run commands on its nodes. */
function SaveGroup({ names, onClose }: { readonly names: readonly string[]; readonly onClose: () => void }) {
  const name = useSignal('');
  const group = name.value.trim();
  return (
    <ByKey
      title={`Save ${plural(names.length, 'node')} as a node group`}
      command={musterCommand('node-group', 'create', group === '' ? 'NAME' : group, '--node', ...names)}
      onClose={onClose}
    >
      <div class="field">
        <label for="group-name">Name of the node group</label>
        <input
          id="group-name"
          class="input"
          value={name.value}
          placeholder="canaries"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
        />
      </div>
    </ByKey>
  );
}

function columnsOf(org: string): readonly Column<FleetNode>[] {
  return [
    {
      id: 'name',
      head: 'Name',
      track: 'minmax(0, 1.6fr)',
      sortable: true,
      cell: ({ name }) => (
        <a class="mono" tabIndex={-1} href={hrefOf(org, { name: 'node', node: name })}>
          {safeText(name)}
        </a>
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
      head: 'Job',
      track: '90px',
      wide: true,
      cell: ({ job }) =>
        job === null ? (
          <span class="quiet">–</span>
        ) : (
          <a class="mono" tabIndex={-1} href={hrefOf(org, { name: 'job', id: job })}>
            {shortId(job)}
          </a>
        ),
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
      track: 'minmax(0, 2fr)',
      wide: true,
      cell: ({ labels }) => (
        <span class="quiet">
          {safeText(
            Object.entries(labels)
              .map(([name, value]) => `${name}:${value}`)
              .join('  '),
          )}
        </span>
      ),
    },
  ];
}
