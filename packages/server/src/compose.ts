import { createNodes, type Nodes, searchNodes, type Transport } from '@muster/nodes';
import { type Auth, actorOf, createAuth } from '@muster/platform/auth';
import { type Base, type Layer, together } from '@muster/platform/layers';
import { createEvents, type Events } from '@muster/platform/log';
import { createPush, type Push } from '@muster/push';
import { createSchedules, createTasks, type Schedules, type Tasks } from '@muster/tasks';

import { LAYERS } from './layers.js';

/** What the layers declare, together. */
export const DECLARED = together(LAYERS);

export interface Surroundings extends Omit<Base, 'recorder'> {
  /** The persistent RSA pair of the server, PEM. */
  readonly serverKeys: { readonly publicKey: string; readonly privateKey: string };
  /** Over which nodes are spoken to. */
  readonly transport: Transport;
}

/** The layers of a server below HTTP and the event fabric. */
export interface Composition {
  readonly base: Base;
  readonly events: Events;
  readonly auth: Auth;
  readonly nodes: Nodes;
  readonly push: Push;
  readonly tasks: Tasks;
  readonly schedules: Schedules;
  /** The lower ones first. */
  readonly layers: readonly Layer[];
}

/**
 * Makes the layers, each knowing only those below; what a lower one needs of a higher one comes in as a function. Neither HTTP nor
 * ZeroMQ is loaded for it: who needs them adds them.
 */
export function compose({ serverKeys, transport, ...around }: Surroundings): Composition {
  const { store, clock, random, logger, config, incarnation } = around;
  const warn = (message: string) => (error: unknown) => logger.warn({ err: error }, message);
  const events = createEvents({
    store,
    clock,
    logger,
    config,
    organizationId: async (name) => (await auth.repository.organization(name))?.id,
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
    selection: {
      check: (query) => void searchNodes(nodes.registry, [], query),
      *select(orgId, query) {
        for (const node of searchNodes(nodes.registry, nodes.registry.list(orgId), query)) yield node.name;
      },
    },
    auditFailed: (error) => logger.error({ err: error }, 'an audit entry was not stored'),
    remnantsFailed: warn('what is left of deleted organizations could not be deleted'),
    standingFailed: warn('rights of open streams could not be looked at after a change'),
  });
  const nodes: Nodes = createNodes(base, {
    transport,
    serverKeys,
    removeIdentity: (org, name, by) => auth.principals.forgetNode(org.id, name, actorOf(by)),
  });
  auth.listeners.add(nodes);
  const push = createPush(base, { nodes: nodes.registry });
  const tasks = createTasks(base, { nodes: nodes.registry });
  auth.listeners.add(tasks);
  const schedules = createSchedules(base, { auth, push, tasks });
  auth.listeners.add(schedules);
  return { base, events, auth, nodes, push, tasks, schedules, layers: [events, auth, nodes, push, tasks, schedules] };
}
