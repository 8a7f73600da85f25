import type { Command } from 'commander';
import { pathOf } from '../client.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';

interface ClusterDocument {
  readonly leader: string | null;
  readonly epoch: number | null;
  readonly lease: { readonly renewed_at: string; readonly ends_at: string } | null;
  readonly nodes: number;
  readonly work: { readonly push_jobs: number; readonly tasks_waiting: number; readonly tasks_running: number };
  readonly database_ms: number | null;
  readonly broker: { readonly connected: boolean; readonly since: string; readonly why: string | null };
  readonly servers: readonly {
    readonly name: string;
    readonly url: string;
    readonly version: string;
    readonly role: 'leader' | 'follower' | 'lost';
    readonly drained: boolean;
    /** That were told to connect to it; null: none are, as the leader has no link with it. */
    readonly nodes: number | null;
    readonly started_at: string;
    readonly seen_at: string;
  }[];
}

/** The servers over one database: who leads, and who shall not. */
export function addCluster(program: Command, shell: Shell): void {
  const cluster = subcommand(program, {
    usage: 'cluster',
    summary: 'the servers over one database: who leads, and who shall not (server administrators)',
    examples: ['muster cluster status', 'muster cluster drain a.example.com'],
  });
  const status = clientCommand(cluster, {
    usage: 'status',
    summary: 'the servers, which of them leads, and since when each was not heard of',
    examples: ['muster cluster status', "muster cluster status --json | jq -r '.leader'"],
  });
  does<object>(status, shell, async (call) => show(call, await call.client.get<ClusterDocument>(pathOf('cluster'))));
  const drain = clientCommand(cluster, {
    usage: 'drain <name>',
    summary:
      'let another server lead in the place of this one and move its nodes to the others, until it is undrained: before it is stopped for long',
    examples: ['muster cluster drain a.example.com'],
  });
  does<object>(drain, shell, async (call) => change(call, 'drain'));
  const undrain = clientCommand(cluster, {
    usage: 'undrain <name>',
    summary: 'let a drained server have nodes again, and lead when there is need of one',
    examples: ['muster cluster undrain a.example.com'],
  });
  does<object>(undrain, shell, async (call) => change(call, 'undrain'));
}

async function change(call: Call<object>, what: 'drain' | 'undrain'): Promise<void> {
  const [name = ''] = call.args;
  await show(call, await call.client.post<ClusterDocument>(pathOf('cluster', 'servers', name, what), {}));
}

/** By two clocks, which may differ. */
function secondsSince(time: string, now: number): number {
  return Math.max(0, Math.round((now - Date.parse(time)) / 1000));
}

async function show({ out, world }: Call<object>, document: ClusterDocument): Promise<void> {
  out.document(document);
  const { leader, epoch, lease, nodes, work, database_ms: databaseMs, broker, servers } = document;
  if (leader === null && servers.length === 0) {
    out.note('this server is alone; docs/guide/cluster.md says how it gets others beside it');
    return;
  }
  out.table(
    ['Server', 'Role', 'Nodes', 'Version', 'URL', 'Started', 'Last heard of'],
    servers.map(({ name, role, drained, nodes: there, version, url, started_at, seen_at }) => [
      name,
      drained ? `${role}, drained` : role,
      there ?? '-',
      version,
      url,
      timeText(started_at),
      timeText(seen_at),
    ]),
  );
  const renewed = lease === null ? '' : `, lease renewed ${secondsSince(lease.renewed_at, world.now())} s ago`;
  out.note(`epoch ${epoch ?? '-'}${renewed}; the database answers in ${databaseMs ?? '-'} ms`);
  const { push_jobs: pushJobs, tasks_waiting: waiting, tasks_running: running } = work;
  out.note(`${nodes} nodes up; ${pushJobs} push jobs run; ${waiting} tasks wait, ${running} run`);
  if (!broker.connected)
    out.note(`the broker of jobs takes no messages since ${timeText(broker.since)}: ${broker.why}`);
}
