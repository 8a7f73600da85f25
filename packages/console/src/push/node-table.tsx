import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import { isJobNodeStatus, type Job, type JobNode } from '../api/types.js';
import { place, setParameters } from '../navigation.js';
import { clock, span } from '../parts/duration.js';
import { Failure, Note } from '../parts/note.jsx';
import { bytes, number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { Ago, now } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { JOB_NODE_LOOKS } from '../statuses/push.js';
import { type Column, Table } from '../table/table.jsx';
import { reasonText } from './parts.jsx';
import { endedAt, ranMs } from './ran.js';
import { readJobNodes } from './read.js';

/** The nodes of a push job, one in a row. */
export function NodeTable({ job, nodes }: { readonly job: Job; readonly nodes: readonly JobNode[] }) {
  const { api } = signedIn();
  const { query } = place.value;
  const status = query.get('status');
  const group = query.get('group');
  const names = useSignal<ReadonlySet<string> | null>(null);
  const error = useSignal<ApiError | null>(null);
  useEffect(() => {
    names.value = null;
    if (group === null) return;
    readJobNodes(api, job.id, { group }).then(
      (found) => {
        names.value = new Set(found.map(({ node_name: name }) => name));
      },
      (thrown) => {
        error.value = apiError(thrown);
      },
    );
  }, [group, job.id]);
  const known = status !== null && isJobNodeStatus(status);
  const rows = nodes.filter(
    (node) => (!known || node.status === status) && (group === null || names.value?.has(node.node_name) === true),
  );
  const columns = useMemo(() => columnsOf(api.org), [api.org]);
  return (
    <>
      {(known || group !== null) && (
        <p class="inside line">
          <span class="grow">
            {group !== null
              ? 'Those of one group of results'
              : `Those that are ${JOB_NODE_LOOKS[known ? status : 'new'].word}`}
            : <strong class="number">{number(rows.length)}</strong>
          </span>
          <button type="button" class="button small" onClick={() => setParameters({ status: null, group: null })}>
            Show all
          </button>
        </p>
      )}
      {status !== null && !known && (
        <div class="inside">
          <Note>There is no status {safeText(status)}; all are shown.</Note>
        </div>
      )}
      {error.value !== null && (
        <div class="inside">
          <Failure error={error.value} />
        </div>
      )}
      {rows.length === 0 ? (
        <p class="inside quiet">None.</p>
      ) : (
        <Table
          label="Nodes of the job"
          columns={columns}
          below={Below}
          rows={rows}
          keyOf={({ node_name: name }) => name}
          onOpen={({ node_name: name }) =>
            setParameters({ view: 'output', node: name, status: null, group: null }, { replace: false })
          }
        />
      )}
    </>
  );
}

function columnsOf(org: string): readonly Column<JobNode>[] {
  return [
    {
      id: 'node',
      head: 'Node',
      track: 'minmax(0, 1.4fr)',
      cell: ({ node_name: name }) => (
        <a class="mono" tabIndex={-1} href={hrefOf(org, { name: 'node', node: name })}>
          {safeText(name)}
        </a>
      ),
    },
    { id: 'status', head: 'Status', track: '120px', cell: (node) => <Status look={JOB_NODE_LOOKS[node.status]} /> },
    {
      id: 'exit',
      head: 'Exit',
      track: '44px',
      end: true,
      cell: ({ exit_code: exit, signal }) => exit ?? signal ?? '–',
    },
    { id: 'reason', head: 'Reason', track: 'minmax(0, 2fr)', wide: true, cell: reasonText },
    {
      id: 'output',
      head: 'Output',
      track: '90px',
      end: true,
      wide: true,
      cell: (node) => outputText(node) ?? '–',
    },
    { id: 'took', head: 'Took', track: '90px', end: true, wide: true, cell: (node) => <Took node={node} /> },
    {
      id: 'ended',
      head: 'Ended',
      track: '90px',
      end: true,
      wide: true,
      cell: (node) => {
        const at = endedAt(node);
        return at === null ? '–' : <Ago at={at} word=" ago" />;
      },
    },
  ];
}

function outputText({ stdout_bytes: out, stderr_bytes: err }: JobNode): string | null {
  return out === null && err === null ? null : bytes((out ?? 0) + (err ?? 0));
}

function Took({ node }: { readonly node: JobNode }) {
  if (node.status === 'running' && node.started_at !== null) {
    return <span class="number">{clock(now.value - Date.parse(node.started_at))}</span>;
  }
  const ran = ranMs(node);
  return <span class="number">{ran === null ? '–' : span(ran)}</span>;
}

/** Where there is little room. */
function Below(node: JobNode) {
  const ran = ranMs(node);
  const told = [reasonText(node), ran === null ? '' : `took ${span(ran)}`, outputText(node) ?? ''];
  return told.filter((part) => part !== '').join(' · ');
}
