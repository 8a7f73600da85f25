import type { Command } from 'commander';
import { pathOf } from '../client.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';

interface ClusterDocument {
  readonly leader: string | null;
  readonly epoch: number | null;
  readonly nodes: number;
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

async function show({ out }: Call<object>, { leader, epoch, nodes, servers, ...rest }: ClusterDocument): Promise<void> {
  out.document({ leader, epoch, nodes, servers, ...rest });
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
  out.note(`epoch ${epoch ?? '-'}, ${nodes} nodes up`);
}
