import { brokerMigrations } from '@muster/broker';
import { createNodes, type FrontedTransport, type Nodes, searchNodes, type Transport } from '@muster/nodes';
import { type AuditHeads, type Auth, actorOf, createAuth, ISSUER_LIMITS } from '@muster/platform/auth';
import { clusterMigrations } from '@muster/platform/cluster';
import { type Base, type Layer, together } from '@muster/platform/layers';
import { createEvents, type Events } from '@muster/platform/log';
import { fetchJson } from '@muster/platform/outbound';
import { openSecretProviders, type SealingKey, type SecretProviders, Secrets } from '@muster/platform/secrets';
import { createPush, createRunbooks, type Push, type RunbookLayer } from '@muster/push';
import type { ServerKeys } from '@muster/signing';
import {
  type Bulk,
  createBulk,
  createSchedules,
  createTasks,
  type Schedules,
  type Tasks,
  taskSecrets,
} from '@muster/tasks';

import { LAYERS } from './layers.js';

const declared = together(LAYERS);

/** What the layers declare, together, and the tables of the embedded broker and of a cluster, on which they stand as on the store. */
export const DECLARED = { ...declared, migrations: [brokerMigrations, clusterMigrations, ...declared.migrations] };

export interface Surroundings extends Omit<Base, 'recorder'> {
  /** Persistent; they sign what the server says. */
  readonly serverKeys: ServerKeys;
  /** How far the audit was sealed before. */
  readonly auditHeads?: AuditHeads;
  /** What secrets are sealed with. */
  readonly sealingKey: SealingKey;
  /** Over which nodes are spoken to. */
  readonly transport: Transport;
  /** Where nodes may be told to connect besides. */
  readonly places?: FrontedTransport | undefined;
}

/** The layers of a server below HTTP and the event fabric. */
export interface Composition {
  readonly base: Base;
  readonly events: Events;
  readonly auth: Auth;
  readonly secrets: Secrets;
  readonly secretProviders: SecretProviders;
  readonly nodes: Nodes;
  readonly push: Push;
  readonly runbooks: RunbookLayer;
  readonly tasks: Tasks;
  readonly bulk: Bulk;
  readonly schedules: Schedules;
  /** The lower ones first. */
  readonly layers: readonly Layer[];
}

/**
 * Makes the layers, each knowing only those below; what a lower one needs of a higher one comes in as a function. Neither HTTP nor
 * ZeroMQ is loaded for it: who needs them adds them.
 */
export function compose({
  serverKeys,
  auditHeads,
  sealingKey,
  transport,
  places,
  ...around
}: Surroundings): Composition {
  const { store, clock, random, logger, config, incarnation } = around;
  const warn = (message: string) => (error: unknown) => logger.warn({ err: error }, message);
  const events = createEvents({
    store,
    clock,
    logger,
    config,
    organizationId: async (name) => (await auth.repository.organization(name))?.id,
    organizationName: async (id) => (await auth.repository.organizationById(id))?.name ?? null,
    openSubjects: DECLARED.openSubjects,
  });
  const base: Base = { ...around, recorder: events.recorder };
  const auth: Auth = createAuth({
    store,
    recorder: events.recorder,
    clock,
    random,
    incarnation,
    rights: DECLARED.rights,
    organizationRows: DECLARED.organizationRows,
    fetch: fetchJson(ISSUER_LIMITS.fetch, config.outbound.private_targets),
    selection: {
      check: (query) => void searchNodes(nodes.registry, [], query),
      *select(orgId, query) {
        for (const node of searchNodes(nodes.registry, nodes.registry.list(orgId), query)) yield node.name;
      },
    },
    serverKeys,
    ...(auditHeads === undefined ? {} : { auditHeads }),
    sealing: sealingKey,
    privateDirectories: config.outbound.private_targets,
    directoryFailed: (issuer, error) => logger.warn({ err: error, issuer }, 'a directory could not be asked'),
    providerFailed: (issuer, error) =>
      logger.warn(
        { issuer, reason: error instanceof Error ? error.message : String(error) },
        'a provider could not sign somebody in',
      ),
    auditFailed: (error) => logger.error({ err: error }, 'an audit entry was not stored'),
    sessionsFailed: warn('sessions of the console could not be tidied up; trying again'),
    sealingFailed: warn('entries of the audit could not be sealed; trying again'),
    forgedFound: (ids) =>
      logger.error({ ids }, 'entries of the audit were written, or changed, by none of the servers'),
    auditCut: (cut) =>
      logger.error(
        cut,
        'the end of the audit was deleted: seals that this server has made, or brought elsewhere, are gone',
      ),
    remnantsFailed: warn('what is left of deleted organizations could not be deleted'),
    standingFailed: warn('rights of open streams could not be looked at after a change'),
  });
  const nodes: Nodes = createNodes(base, {
    transport,
    places,
    serverKeys,
    removeIdentity: (org, name, by) => auth.principals.forgetNode(org.id, name, actorOf(by)),
    signs: (org, name) => auth.principals.nodeSigns(org.id, name),
  });
  auth.listeners.add(nodes);
  const secretProviders = openSecretProviders(config, base);
  const secrets = new Secrets({ store, auth, key: sealingKey, providers: secretProviders });
  const push = createPush(base, { nodes: nodes.registry, secrets });
  const runbooks = createRunbooks(base, { auth, push });
  const tasks = createTasks(base, { nodes: nodes.registry, secrets: taskSecrets(secrets, auth) });
  auth.listeners.add(tasks);
  const bulk = createBulk(base, { auth, tasks });
  auth.listeners.add(bulk);
  const schedules = createSchedules(base, { auth, push, tasks, runbooks });
  auth.listeners.add(schedules);
  const layers = [events, auth, nodes, push, runbooks, tasks, bulk, schedules];
  return { base, events, auth, secrets, secretProviders, nodes, push, runbooks, tasks, bulk, schedules, layers };
}
