import type { ServerKeys } from '@muster/signing';
import type { StoreHealth } from '@muster/store';
import { Type } from 'typebox';
import type { CertificateEnd } from '../config/index.js';
import type { Metrics } from '../metrics/metrics.js';
import type { App } from './route.js';

/** What layers say. */
export interface LayerStatus {
  /** Nodes that are up, over all organizations. */
  readonly nodes: number;
  /** Unfinished push jobs, and finished ones in their linger. */
  readonly jobs: readonly string[];
  /** Of the event fabric, relays among them. */
  readonly eventClients: number;
}

export interface ServerStatus extends LayerStatus {
  readonly incarnation: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly now: number;
  readonly store: StoreHealth;
  /** Of the listeners that speak TLS. */
  readonly certificates?: readonly CertificateEnd[];
  readonly serverKeys?: Pick<ServerKeys, 'next' | 'present'>;
  /** Of a server of a cluster. */
  readonly cluster?: ClusterStatus;
}

/** What a server of a cluster says to those who watch it, and to the other servers. */
export interface ClusterStatus {
  readonly role: 'leader' | 'follower';
  /** Name of the server that leads; null: it is not known. */
  readonly leader: string | null;
  /** Of the leader; 0: it is not known. */
  readonly epoch: number;
}

const ALIVE = "it's alive";

/** What needs no authentication: monitoring must work when signing does not (sheet §7.4). */
export function statusRoutes(app: App, status: () => ServerStatus, metrics: Metrics): void {
  app.get(
    '/_status',
    {
      config: { permission: 'public' },
      schema: {
        operationId: 'getStatus',
        summary: 'Is the server alive?',
        description: 'Push Jobs §6.1.',
        tags: ['status'],
        response: {
          200: Type.Object({
            status: Type.String(),
            incarnation_id: Type.String(),
            uptime: Type.Number({ description: 'Seconds' }),
            store: Type.Object({
              ok: Type.Boolean(),
              problem: Type.Optional(
                Type.Union([Type.Literal('unavailable'), Type.Literal('damaged')], {
                  description:
                    'Why not: `unavailable`, it does not answer or takes no writes, which passes; `damaged`, a backup is needed. The log of the server says more',
                }),
              ),
            }),
            certificates: Type.Array(
              Type.Object({
                listener: Type.String({ description: '`http`, `stomp` or `disbatch`' }),
                expires_at: Type.String({ description: 'ISO 8601' }),
              }),
              { description: 'Of the listeners that speak TLS, as they were read at the start' },
            ),
            server_key: Type.Optional(
              Type.Object({
                fingerprint: Type.String({ description: 'SHA-256 of the SPKI DER, hexadecimal' }),
                next: Type.Union([Type.String({ description: 'ISO 8601' }), Type.Null()], {
                  description: 'When an announced key takes over',
                }),
              }),
            ),
            cluster: Type.Optional(
              Type.Object(
                {
                  role: Type.Union([Type.Literal('leader'), Type.Literal('follower')]),
                  leader: Type.Union([Type.String(), Type.Null()], { description: 'Name; null: none is known' }),
                  epoch: Type.Integer({ description: 'Counts the changes of the leader; 0: none is known' }),
                },
                {
                  description:
                    'Of a server of a cluster. A follower passes everything on to the leader but this page and `/metrics`',
                },
              ),
            ),
            events: Type.Object({ clients: Type.Integer({ description: 'Clients and relays of the event fabric' }) }),
          }),
        },
      },
    },
    async () => {
      const { incarnation, now, startedAt, store, certificates = [], serverKeys, cluster, eventClients } = status();
      return {
        status: ALIVE,
        incarnation_id: incarnation,
        uptime: (now - startedAt) / 1000,
        // The reason may name hosts and paths, which are nobody's business who has not logged in.
        store: store.ok ? { ok: true } : { ok: false, problem: store.problem },
        certificates: certificates.map(({ listener, expiresAt }) => ({
          listener,
          expires_at: new Date(expiresAt).toISOString(),
        })),
        ...(serverKeys !== undefined && {
          server_key: { fingerprint: serverKeys.present.fingerprint, next: serverKeys.next?.takes_over_at ?? null },
        }),
        ...(cluster !== undefined && { cluster }),
        events: { clients: eventClients },
      };
    },
  );

  app.get(
    '/pushy/_status',
    {
      config: { permission: 'public' },
      schema: {
        operationId: 'getPushyStatus',
        summary: 'Is the server alive? The deployed shape',
        description: 'Sheet §7.4.',
        tags: ['status'],
        response: {
          200: Type.Object({
            status: Type.String(),
            incarnation_id: Type.String(),
            node_fsm_count: Type.Integer({ description: 'Nodes that are up, over all organizations' }),
            job_processes: Type.Array(Type.String()),
          }),
        },
      },
    },
    async () => {
      const { incarnation, nodes, jobs } = status();
      return { status: ALIVE, incarnation_id: incarnation, node_fsm_count: nodes, job_processes: [...jobs] };
    },
  );

  app.get(
    '/metrics',
    {
      config: { permission: 'public', accept: 'text/plain' },
      schema: {
        operationId: 'getMetrics',
        summary: 'Metrics for Prometheus',
        tags: ['status'],
        produces: ['text/plain'],
        response: { 200: { content: { 'text/plain': { schema: Type.String() } } } },
      },
    },
    async (_request, reply) => {
      reply.type(metrics.registry.contentType);
      return metrics.registry.metrics();
    },
  );
}
