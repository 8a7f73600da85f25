import { FABRIC_LIMITS } from '@muster/fabric';
import type { Network } from '../kernel/tcp/network.js';
import type { Timeline } from '../kernel/timeline.js';
import { Violation } from '../kernel/violation.js';
import type { RelayPlace } from './places.js';
import type { TreePlan } from './plan.js';
import { urlOf } from './relay-process.js';
import type { RootProcess } from './root-process.js';

/** What is looked at. */
export interface Looked {
  readonly steps: number;
  readonly timeline: Timeline;
  readonly plan: TreePlan;
  readonly network: Network;
  readonly root: RootProcess | null;
  readonly relays: readonly RelayPlace[];
  readonly report: (violation: Violation) => void;
}

/** Looking at everything after each step would take longer than the steps. */
const LOOK_EVERY = 20;
/** One turn's frames go out together; then the limit is looked at. */
const TURN_BYTES = 256 * 1024;

/** What holds after every step. */
export function checkStep(world: Looked): void {
  for (const place of world.relays) checkListening(world, place);
  if (world.steps % LOOK_EVERY !== 0) return;
  for (const place of world.relays) checkDropped(world, place);
  checkBounds(world);
  checkSilence(world);
}

/** R-7, O-13: without upstream those who come find nobody. */
function checkListening(world: Looked, { plan: { name }, relay }: RelayPlace): void {
  if (relay === null || relay.state === 'serving' || !world.network.listens(urlOf(name))) return;
  world.report(new Violation('R-7', `${name}: clients are taken while it is ${relay.state}`));
}

/** after a drop nobody is kept. */
function checkDropped(world: Looked, { plan: { name }, relay }: RelayPlace): void {
  if (relay === null || relay.state === 'serving' || relay.state === 'degraded') return;
  const { clients, subscriptions, selectors } = relay.status();
  if (clients === 0 && subscriptions === 0 && selectors.indexed + selectors.unindexed === 0) return;
  const kept = `${clients} clients and ${subscriptions} subscriptions`;
  world.report(new Violation('R-6', `${name}: ${kept} while it is ${relay.state}`));
}

/** Nothing grows without bound. */
function checkBounds(world: Looked): void {
  const { outletBytes } = world.plan;
  const most = outletBytes + TURN_BYTES;
  const fail = (name: string, detail: string): void => world.report(new Violation('growth', `${name}: ${detail}`));
  for (const { principal, queuedBytes } of world.root?.root?.clients() ?? []) {
    if (queuedBytes > most) fail('root', `${queuedBytes} bytes for ${principal}`);
  }
  for (const { plan, relay } of world.relays) {
    if (relay === null) continue;
    const { queued, unconfirmed } = relay.status();
    if (queued.largest > most) fail(plan.name, `${queued.largest} bytes for a client`);
    if (unconfirmed > FABRIC_LIMITS.inFlightEvents) fail(plan.name, `${unconfirmed} events unconfirmed`);
  }
}

/** Whoever hears nothing for two heart-beats knows that nobody is there. */
function checkSilence({ network, plan, report, timeline: { now } }: Looked): void {
  // It is counted from the end of the login, which a relay may wait for as long as for any answer.
  const patienceMs = FABRIC_LIMITS.missedIntervals * plan.heartBeatMs + plan.sendMs;
  for (const { silentSinceMs: since, host, peer } of network.ends) {
    if (since === null || now - since <= patienceMs) continue;
    const detail = `${host.name} has heard nothing from ${peer.host.name} for ${Math.round(now - since)} ms`;
    report(new Violation('silence', detail));
  }
}
