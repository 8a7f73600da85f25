import type { Clock } from '@muster/base';
import { Type } from 'typebox';
import type { Changes } from '../auth/changes.js';
import { actorOf } from '../auth/types.js';
import { MusterError } from '../errors.js';
import type { App } from '../http/route.js';
import { CLUSTER_LIMITS } from './limits.js';
import type { ClusterServer } from './servers.js';
import './tables.js';

const tags = ['cluster'];
const Time = Type.String({ description: 'ISO 8601' });
const Server = Type.Object({
  name: Type.String(),
  incarnation: Type.String({ description: 'Of its process: new at every start' }),
  url: Type.String({ description: 'Where the other servers reach it' }),
  version: Type.String(),
  role: Type.Union([Type.Literal('leader'), Type.Literal('follower'), Type.Literal('lost')], {
    description: '`lost`: it has not been heard of for 15 seconds',
  }),
  drained: Type.Boolean({ description: 'It shall not lead, nor have nodes' }),
  nodes: Type.Union([Type.Integer(), Type.Null()], {
    description: 'That were told to connect to it; null: none are, as the leader has no link with it',
  }),
  started_at: Time,
  seen_at: Time,
});
const Cluster = Type.Object({
  leader: Type.Union([Type.String(), Type.Null()], { description: 'Name; null: this server is alone' }),
  epoch: Type.Union([Type.Integer(), Type.Null()], { description: 'Counts the changes of the leader' }),
  lease: Type.Union(
    [
      Type.Object({
        renewed_at: Time,
        ends_at: Type.String({ description: 'Unless it is renewed. ISO 8601, by the clock of the leader' }),
      }),
      Type.Null(),
    ],
    { description: 'By which the leader leads' },
  ),
  nodes: Type.Integer({ description: 'That are up, over all organizations' }),
  work: Type.Object(
    {
      push_jobs: Type.Integer({ description: 'That have not ended' }),
      tasks_waiting: Type.Integer(),
      tasks_running: Type.Integer(),
    },
    { description: 'Of all organizations' },
  ),
  database_ms: Type.Union([Type.Number(), Type.Null()], {
    description: 'How long the database took to say who is there; null: this server is alone',
  }),
  broker: Type.Object(
    {
      connected: Type.Boolean({ description: 'Whether it takes messages now' }),
      since: Time,
      why: Type.Union([Type.String(), Type.Null()], { description: 'Why not' }),
    },
    { description: 'Of jobs' },
  ),
  servers: Type.Array(Server),
});

/** What the routes need of the process that leads. */
export interface ClusterRouteDeps {
  readonly changes: Pick<Changes, 'apply' | 'now'>;
  /** Nodes that are up. */
  readonly nodes: () => number;
  /** What is not done yet. */
  readonly work: () => { readonly push_jobs: number; readonly tasks_waiting: number; readonly tasks_running: number };
  readonly broker: () => { readonly connected: boolean; readonly since: number; readonly why: string | null };
  readonly clock: Clock;
  /** By the name of a server that takes connections of nodes: those that were told to connect there. */
  readonly places: () => ReadonlyMap<string, number>;
  /** null: this server is alone. */
  readonly cluster: { readonly list: () => Promise<readonly ClusterServer[]>; readonly changed: () => void } | null;
}

/** Who is in the cluster, and who shall not lead it. */
export function clusterRoutes(app: App, deps: ClusterRouteDeps): void {
  const { changes, cluster } = deps;

  const view = async () => {
    const begun = deps.clock.monotonic();
    const servers = cluster === null ? [] : await cluster.list();
    const databaseMs = deps.clock.monotonic() - begun;
    const { connected, since, why } = deps.broker();
    const leader = servers.find(({ epoch }) => epoch !== null);
    const places = deps.places();
    return {
      leader: leader?.name ?? null,
      epoch: leader?.epoch ?? null,
      lease: leaseOf(leader),
      nodes: deps.nodes(),
      work: deps.work(),
      database_ms: cluster === null ? null : Math.round(databaseMs * 10) / 10,
      broker: { connected, since: iso(since), why },
      servers: servers.map((server) => viewOf(server, places.get(server.name) ?? null)),
    };
  };

  app.get(
    '/cluster',
    {
      config: { permission: 'server:admin' },
      schema: {
        operationId: 'getCluster',
        summary: 'The servers of the cluster',
        description: 'Of a server that is alone the list is empty.',
        tags,
        response: { 200: Cluster },
      },
    },
    view,
  );

  const Params = Type.Object({ name: Type.String({ minLength: 1, maxLength: 253 }) });
  for (const [path, operationId, summary, drain] of [
    [
      'drain',
      'drainServer',
      'Let another server lead in the place of this one, and move its nodes to the others, until it is undrained',
      true,
    ],
    ['undrain', 'undrainServer', 'Let a drained server have nodes again, and lead when there is need of one', false],
  ] as const) {
    app.post(
      `/cluster/servers/:name/${path}`,
      {
        config: { permission: 'server:admin', empowers: false },
        schema: { operationId, summary, tags, params: Params, response: { 200: Cluster } },
      },
      async (request) => {
        if (cluster === null) throw new MusterError('not_in_cluster');
        const { name } = request.params;
        const servers = await cluster.list();
        if (!servers.some((server) => server.name === name))
          throw new MusterError('cluster_server_not_found', { name });
        if (drain && !servers.some((server) => server.name !== name && !server.lost && !server.drained))
          throw new MusterError('cluster_leaderless', { name });
        const action = drain ? 'cluster.drain' : 'cluster.undrain';
        await changes.apply(
          { orgId: null, concerns: 'everybody', actor: actorOf(request.caller), action, target: name, detail: {} },
          async (trx) => {
            await trx.deleteFrom('cluster_drained').where('name', '=', name).execute();
            if (drain) await trx.insertInto('cluster_drained').values({ name, since: changes.now }).execute();
          },
        );
        cluster.changed();
        return view();
      },
    );
  }
}

function roleOf({ epoch, lost }: Pick<ClusterServer, 'epoch' | 'lost'>): 'leader' | 'follower' | 'lost' {
  if (lost) return 'lost';
  return epoch === null ? 'follower' : 'leader';
}

function leaseOf(leader: ClusterServer | undefined) {
  const ends = leader?.leaseEndsAt ?? null;
  return ends === null ? null : { renewed_at: iso(ends - CLUSTER_LIMITS.leaseMs), ends_at: iso(ends) };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}

function viewOf({ name, incarnation, url, version, drained, ...server }: ClusterServer, nodes: number | null) {
  return {
    ...{ name, incarnation, url, version, drained, nodes },
    role: roleOf(server),
    started_at: iso(server.startedAt),
    seen_at: iso(server.seenAt),
  };
}
