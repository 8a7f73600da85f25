import { every, type Timer } from '@muster/base';
import type { Identity, IdentityListener, Organization } from '@muster/platform/auth';
import type { Base, Layer } from '@muster/platform/layers';
import { BoundedLog } from '@muster/platform/upkeep';
import { type ServerKeys, vouch } from '@muster/signing';
import type { NodeConfiguration } from '@muster/wire';
import { Admissions } from './admission.js';
import { Aspects } from './aspects.js';
import { advertised, advertisedPlain } from './configuration.js';
import { NodeController } from './controller.js';
import { type ConfigurationRequest, Discovery } from './discovery.js';
import { Dispatch } from './dispatch.js';
import { MusterError } from './errors.js';
import type { FrontedTransport, Place } from './fronts/fronted.js';
import { startHeartbeat } from './heartbeat.js';
import { historyOf } from './history.js';
import type { Inventory } from './inventory.js';
import type { KnownNode } from './known-node.js';
import { type LivenessRules, returnMs } from './machine.js';
import { countNodes, createNodeMetrics } from './metrics.js';
import { Reception } from './reception.js';
import { Roster } from './roster.js';
import { searchNodes } from './search.js';
import { expire, revoke } from './sessions.js';
import type { Endpoints, Transport } from './transport.js';
import { explain } from './why.js';

export interface NodesDeps {
  readonly transport: Transport;
  /** Where nodes may be told to connect besides; nowhere when absent. */
  readonly places?: Pick<FrontedTransport, 'placeOf' | 'toMove' | 'forget'> | undefined;
  /** Persistent; they sign the server's heartbeats. */
  readonly serverKeys: ServerKeys;
  /** Deletes the node's principal and keys; harmless when there is none. */
  readonly removeIdentity: (org: Organization, name: string, by: Identity) => Promise<void>;
  /** Whether a node with an agent has a key that is good. */
  readonly signs: (org: Organization, name: string) => Promise<boolean>;
}

/** The nodes layer: who is up, and the command channel. */
export interface Nodes extends Required<Layer>, Required<IdentityListener> {
  readonly registry: NodeController;
  /** What routes show and do. */
  readonly inventory: Inventory;
  /** Answers a configuration request whose caller is established; what the route does. */
  configure(request: ConfigurationRequest): NodeConfiguration;
  /** Reads what is stored. Then layers above load what they have of nodes, then comes `start`. */
  load(): Promise<void>;
  /** Opens the sockets. @throws MusterError `address_in_use`. */
  start(): Promise<Endpoints>;
  stop(): Promise<void>;
  /** A request in the name of a node was refused; kept for `why` when the node is known. */
  nodeRefused(orgName: string, name: string, code: string): void;
  /** Every agent connects anew, and asks for its configuration before. */
  reconnect(): void;
  /** How many agents are connected, and how many of them have asked for their configuration since then. */
  configuredSince(at: number): { readonly up: number; readonly told: number };
  /** How large the tables are: with the nodes they grow, with time they do not. */
  sizes(): { readonly nodes: number; readonly connections: number; readonly admissions: number };
}

/** Sweeps per heartbeat interval: a node is noticed to be down at most this fraction late. */
const SWEEPS_PER_INTERVAL = 4;
/** Between looks at which nodes are to be on another server of the cluster. */
const SPREAD_MS = 1000;

export function createNodes(base: Base, deps: NodesDeps): Nodes {
  const { store, recorder, clock, logger, config, serverName, incarnation } = base;
  const { transport, serverKeys } = deps;
  const rules: LivenessRules = {
    intervalMs: config.heartbeat.interval * 1000,
    offlineThreshold: config.heartbeat.offline_threshold,
    onlineThreshold: config.heartbeat.online_threshold,
  };
  const spec1 = config.spec1.heartbeat !== undefined && config.spec1.command !== undefined;

  const roster = new Roster();
  const aspects = new Aspects();
  const metrics = createNodeMetrics(base.metrics);
  const log = new BoundedLog(logger, clock);
  const dispatch = new Dispatch({ transport, clock, metrics, serverName });
  const admissions = new Admissions(clock, config.command.admission * 1000);
  const controller = new NodeController({
    store,
    recorder,
    clock,
    log,
    roster,
    dispatch,
    rules,
    aspects,
    forget: cutOff,
  });
  const reception = new Reception({
    roster,
    clock,
    metrics,
    log,
    maxBodySize: config.command.max_body_size,
    maxSkewMs: config.command.max_skew * 1000,
    verified: (message, reconnected) => controller.verified(message, reconnected),
  });
  const discovery = new Discovery({ config, controller, admissions, serverKeys });

  /** Its agent comes again, is not admitted, asks for its configuration, and is told why it gets none. */
  function cutOff(node: KnownNode): void {
    const { peer } = node;
    deps.places?.forget(placeKey(node.org.id, node.name));
    reception.forget(node);
    admissions.forget(node);
    if (peer !== null) transport.hangUp(peer);
  }

  /** What was agreed with a key ends with the key; and without a key nothing can be agreed. */
  async function sessionsEnded(node: KnownNode): Promise<void> {
    const ended = () => node.sessions.current === null && node.sessions.next === null;
    if (!ended()) return;
    cutOff(node);
    if (node.status === 'down' || node.via === 'ssh') return;
    try {
      // With another key its agent comes back, and what it does goes on. It may have done so meanwhile.
      if (!(await deps.signs(node.org, node.name)) && ended()) controller.keyless(node);
    } catch (error) {
      log.warn('keys', { err: error, node: node.name }, 'the keys of a node could not be read; its silence tells');
    }
  }

  function endExpired(): void {
    const now = clock.now();
    for (const node of roster) if (expire(node.sessions, now)) void sessionsEnded(node);
  }

  /** Connected nodes that are to be on another server of the cluster ask again where to connect. */
  function spread(places: Pick<FrontedTransport, 'toMove'>): void {
    const connectedAt = (place: string): readonly KnownNode[] => {
      const [orgId = '', name = ''] = place.split(' ');
      const node = controller.get(orgId, name);
      return node?.status === 'up' && dispatch.reaches(node) ? [node] : [];
    };
    const moving = places.toMove((place) => connectedAt(place).length > 0);
    if (moving.length > 0) dispatch.send(moving.flatMap(connectedAt), { type: 'reconfigure' });
  }

  let endpoints: Endpoints | null = null;
  let opened = false;
  let timers: readonly Timer[] = [];

  function startRounds(): readonly Timer[] {
    const sweepMs = rules.intervalMs / SWEEPS_PER_INTERVAL;
    let spared = 0;
    return [
      every(clock, sweepMs, (lateMs) => {
        endExpired();
        // This process stood still: heartbeats may lie unread in the sockets, so nobody is judged for an interval; and
        // when nodes may have missed this server, not before they can have found it again, as after a start. It is
        // counted in rounds, because the clock may also have been set, and be set back.
        if (lateMs > rules.intervalMs) spared = Math.max(spared, sparedRounds(lateMs));
        if (spared > 0) spared -= 1;
        else controller.sweep();
      }),
      startHeartbeat({
        clock,
        transport,
        intervalMs: rules.intervalMs,
        serverName,
        incarnation,
        serverKeys,
        plain: spec1,
      }),
      ...(deps.places === undefined ? [] : [every(clock, SPREAD_MS, spread.bind(null, deps.places))]),
    ];
  }

  function sparedRounds(lateMs: number): number {
    // A node counts whole intervals of its own, so it may be one sooner than the threshold says.
    const missed = lateMs > (rules.offlineThreshold - 1) * rules.intervalMs;
    return missed ? SWEEPS_PER_INTERVAL * (returnMs(rules) / rules.intervalMs) : SWEEPS_PER_INTERVAL;
  }

  function configure(request: ConfigurationRequest, elsewhere: Place | null = null): NodeConfiguration {
    if (endpoints === null) throw new MusterError('too_busy', { what: 'requests before the start', limit: 0 });
    const { curvePublicKey } = endpoints;
    const own = { name: serverName, curvePublicKey, ...advertised(config, serverName, endpoints) };
    const place = elsewhere ?? own;
    return discovery.answer(request, {
      serverName: place.name,
      incarnation,
      keys: serverKeys,
      voucher: voucherOf(place),
      place,
      plain: advertisedPlain(endpoints, serverName),
      nodes: roster.size,
    });
  }

  /** On whichever server of the cluster there is most room for it. */
  async function configureAnywhere(request: ConfigurationRequest): Promise<NodeConfiguration> {
    const { org, node, caller, curveKey } = request;
    const itself = caller.type === 'node' && caller.name === node;
    if (deps.places === undefined || curveKey === null || !itself) return configure(request);
    const forMs = config.command.admission * 1000;
    return configure(request, await deps.places.placeOf(placeKey(org.id, node), curveKey, forMs));
  }

  /** Made once for all who ask, of each key and place. */
  const vouched = new Map<string, string>();
  let vouchedBy = '';
  function voucherOf({ curvePublicKey }: Place): string {
    const { present } = serverKeys;
    if (vouchedBy !== present.fingerprint) vouched.clear();
    vouchedBy = present.fingerprint;
    const voucher = vouched.get(curvePublicKey) ?? vouch(present, curvePublicKey, incarnation);
    vouched.set(curvePublicKey, voucher);
    return voucher;
  }

  return {
    registry: controller,
    configure,
    inventory: {
      spec1,
      aspects,
      configure: configureAnywhere,
      get: (orgId, name) => controller.get(orgId, name),
      list: (orgId) => controller.list(orgId),
      search: (orgId, query) => searchNodes(controller, controller.list(orgId), query),
      history: (node, after, limit) => historyOf(store.read, node, after, limit),
      async why(node) {
        const keyless = node.via === 'agent' && node.status === 'down' && !(await deps.signs(node.org, node.name));
        return explain(node, aspects, rules, clock.now(), keyless);
      },
      async remove(org, name, force, by) {
        controller.assertRemovable(org.id, name, force);
        await deps.removeIdentity(org, name, by);
        await controller.remove(org.id, name);
      },
    },
    load: () => controller.load(),
    async start() {
      countNodes(base.metrics, roster, aspects.labels);
      endpoints = await transport.start({
        received: (channel, frames) => reception.received(channel, frames),
        admits(curveKey) {
          const verdict = admissions.check(curveKey);
          metrics.zap(verdict);
          return verdict === 'admitted';
        },
        sendDropped: (cause) => metrics.sendDropped(cause),
        connectionClosed(cause, from, why) {
          metrics.connectionClosed(cause);
          log.info(`closed:${cause}`, { cause, from, why }, 'closed a connection to a socket for nodes');
        },
      });
      timers = startRounds();
      controller.opened();
      opened = true;
      return endpoints;
    },
    async stop() {
      for (const timer of timers) timer.cancel();
      timers = [];
      await transport.stop();
      if (opened) await controller.closed();
    },
    nodeCreated(org, name) {
      controller.known(org, name);
    },
    async keyRemoved(org, name, fingerprint) {
      const node = controller.get(org.id, name);
      if (node === undefined) return;
      revoke(node.sessions, fingerprint);
      await sessionsEnded(node);
    },
    async organizationRemoved(orgId) {
      for (const node of controller.list(orgId)) await controller.remove(orgId, node.name);
    },
    nodeRefused(orgName, name, code) {
      const node = roster.claimed(orgName, name);
      if (typeof node !== 'string') node.diagnostics.refused = { at: clock.now(), code };
    },
    reconnect() {
      for (const node of roster) cutOff(node);
    },
    configuredSince(at) {
      let [up, told] = [0, 0];
      for (const node of roster) {
        // A node without an agent is no agent that could be told.
        if (node.status !== 'up' || node.via === 'ssh') continue;
        up += 1;
        if ((node.diagnostics.configuredAt ?? 0) >= at) told += 1;
      }
      return { up, told };
    },
    sizes: () => ({ nodes: roster.size, connections: reception.connections, admissions: admissions.size }),
    status() {
      let nodes = 0;
      for (const node of roster) if (node.status === 'up') nodes += 1;
      return { nodes };
    },
  };
}

/** A node as the servers of a cluster count it. */
function placeKey(orgId: string, name: string): string {
  return `${orgId} ${name}`;
}
