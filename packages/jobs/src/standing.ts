import type { Broker, Topology } from '@muster/broker';
import { MusterError } from './errors.js';

/** What is read stands before somebody reads it. While the broker is away it is made with the next connection. */
export async function makeStand(broker: Pick<Broker, 'declare'>, ...topologies: readonly Topology[]): Promise<void> {
  for (const topology of topologies) {
    await broker.declare(topology).catch((error: unknown) => {
      if (!(error instanceof MusterError && error.code === 'broker_unavailable')) throw error;
    });
  }
}
