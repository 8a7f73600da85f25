import { type Clock, systemClock } from '@muster/base';
import { type Broker, EmbeddedBroker } from '@muster/broker';
import { createAskingReach } from '../../../src/systems/agent/asking-reach.js';
import type { AgentReach } from '../../../src/systems/agent/types.js';
import { WorkerConnections } from '../../../src/systems/agent/worker-connections.js';
import { Asking } from '../../../src/systems/asking/asking.js';
import { OrderTaker } from '../../../src/systems/asking/order-taker.js';
import type { Way } from '../../../src/systems/asking/orders.js';
import { startCatalog } from '../../support/catalog-server.js';
import { played, random } from './agent-nodes.js';

/** No queue of tasks is asked for here. */
const NO_TASKS = {
  add: () => Promise.reject(new Error('nobody adds tasks here')),
  cancel: () => Promise.reject(new Error('nobody cancels tasks here')),
};

export interface AskedNodesOptions {
  /** What the server speaks TLS with. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** What the server says of where it is, when that is not so. */
  readonly reached?: Partial<Omit<Way, 'ticket'>>;
}

/** A server with ways to nodes, and processes beside it that ask for them: over a real broker, and over HTTP. */
export async function openAskedNodes(agents: AgentReach, { tls, reached = {} }: AskedNodesOptions = {}) {
  let url = '';
  const workers = new WorkerConnections({
    agents,
    clock: systemClock,
    random,
    reached: () => ({ url, certificate: null, ...reached }),
  });
  const server = await startCatalog({ sessions: played().sessions, workers }, tls);
  url = server.url;
  const ends: (() => Promise<void>)[] = [];
  const openBroker = async (holder: string): Promise<Broker> => {
    const { store } = server.catalog;
    const broker = await EmbeddedBroker.open({ store, clock: systemClock, log: console, holder, alone: false });
    ends.push(() => broker.close());
    return broker;
  };
  return {
    server,
    workers,
    async takeOrders(): Promise<void> {
      const recorder = { announce: () => undefined };
      const broker = await openBroker('server');
      const orders = new OrderTaker({ broker, runner: NO_TASKS, connections: workers, recorder, log: console });
      await orders.start();
      ends.push(() => orders.stop());
    },
    /** As a process beside the server has it. */
    async reach(holder: string, clock: Clock = systemClock): Promise<AgentReach> {
      const asking = new Asking({ broker: await openBroker(holder), clock });
      ends.push(() => asking.stop());
      return createAskingReach({ asking, clock });
    },
    async close(): Promise<void> {
      for (const end of ends.reverse()) await end();
      await workers.stop();
      await server.close();
    },
  };
}

export type AskedNodes = Awaited<ReturnType<typeof openAskedNodes>>;
