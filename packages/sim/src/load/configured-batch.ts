import { createPrivateKey, type KeyObject, randomUUID } from 'node:crypto';
import { decryptSessionKey, type NodeConfiguration, parseNodeConfiguration } from '@muster/wire';
import { curveKeyPair, Subscriber } from 'zeromq';
import { adaptively } from './adaptive.js';
import type { ConfiguredBatch } from './batch-messages.js';
import { NodeLink } from './node-link.js';
import { answerOf, send, signedHeaders } from './signed-call.js';
import { TaskLoad } from './task-load.js';

/** Heartbeats of one interval are spread over this many moments, so that they do not come in one burst. */
const SLICES = 100;
/** A signature is sent again for at most this long: half of what the server accepts. */
const SIGNATURE_KEPT_MS = 450_000;
/** Pause before a configuration request is repeated; the longest after several failures. */
const RETRY_FIRST_MS = 1_000;
const RETRY_LONGEST_MS = 60_000;

/** From the return of the server until its nodes have tried their old keys. */
const REFUSED_AFTER_MS = 1_000;

interface Member {
  readonly name: string;
  readonly incarnation: string;
  readonly curve: { readonly publicKey: string; readonly secretKey: string };
  signed: { readonly headers: Record<string, string>; readonly at: number };
  link: NodeLink | null;
  tasks: TaskLoad | null;
  /** Of the server that its configuration is from. */
  server: string;
}

/** A batch of nodes that behave as agents do: they configure themselves, heartbeat, and come back to a new server. */
export class Configured {
  readonly #order: ConfiguredBatch;
  readonly #privateKey: KeyObject;
  readonly #members: readonly Member[];
  #intervalMs = 0;

  /** Signs every request in advance. */
  constructor(order: ConfiguredBatch) {
    this.#order = order;
    this.#privateKey = createPrivateKey(order.privateKey);
    this.#members = order.names.map((name) => {
      const curve = curveKeyPair();
      const signed = this.#sign(name, curve);
      const member: Member = { name, incarnation: randomUUID(), curve, signed, link: null, tasks: null, server: '' };
      if (order.tasks !== undefined) member.tasks = new TaskLoad(order.tasks, (message) => member.link?.send(message));
      return member;
    });
  }

  /** Resolves when every node has its sockets. The first ones heartbeat meanwhile, and all until the process ends. */
  async connect(): Promise<void> {
    let configuration: NodeConfiguration | undefined;
    await adaptively(this.#members, this.#order.parallel, async (member) => {
      const own = await this.#configure(member, 'first');
      if (configuration === undefined) {
        this.#intervalMs = own.push_jobs.heartbeat.interval * 1000;
        this.#heartbeat();
      }
      configuration = own;
    });
    if (configuration !== undefined) void this.#listen(configuration.push_jobs.heartbeat.out_addr);
  }

  async #configure(member: Member, start: 'first' | null): Promise<NodeConfiguration> {
    if (Date.now() - member.signed.at > SIGNATURE_KEPT_MS) member.signed = this.#sign(member.name, member.curve);
    const url = new URL(this.#path(member.name, member.curve), this.#order.server);
    const answer = await answerOf(`configuration of ${member.name}`, send(url, 'GET', member.signed.headers));
    if (answer.status !== 200) throw new Error(`configuration of ${member.name}: ${answer.status} ${answer.text}`);
    const configuration = parseNodeConfiguration(JSON.parse(answer.text));
    const { curve_public_key: curveServerKey } = configuration;
    if (curveServerKey === undefined) throw new Error('the server offers no CURVE key');
    const link = new NodeLink({
      org: this.#order.org,
      node: member.name,
      incarnation: member.incarnation,
      address: configuration.push_jobs.heartbeat.command_addr,
      curveServerKey,
      curve: member.curve,
      sessionKey: decryptSessionKey(configuration.encoded_session_key.key, this.#privateKey),
      maxSkewMs: configuration.max_message_skew * 1000,
      tasks: member.tasks,
      output: this.#order.output ?? null,
    });
    member.link?.close();
    member.link = link;
    member.server = configuration.incarnation_id;
    if (start !== null) link.send({ type: 'ready', start });
    link.beat();
    member.tasks?.connected();
    return configuration;
  }

  #heartbeat(): void {
    let slice = 0;
    setInterval(() => {
      for (let at = slice; at < this.#members.length; at += SLICES) this.#members[at]?.link?.beat();
      slice = (slice + 1) % SLICES;
    }, this.#intervalMs / SLICES);
  }

  /**
   * One subscription for all nodes of the process: it tells when the server was restarted, and each node then waits a
   * random part of an interval before it asks for its configuration (sheet §5.5).
   */
  async #listen(address: string): Promise<void> {
    const subscriber = new Subscriber({ linger: 0 });
    let lost = false;
    subscriber.events.on('disconnect', () => {
      lost = true;
    });
    subscriber.events.on('connect', () => {
      if (lost) this.#hangUp(this.#members.map(({ link }) => link));
      lost = false;
    });
    subscriber.connect(address);
    subscriber.subscribe();
    let known = this.#members[0]?.server ?? '';
    for await (const [, body] of subscriber) {
      const { incarnation_id: incarnation }: { incarnation_id?: unknown } = JSON.parse(String(body));
      if (typeof incarnation !== 'string' || incarnation === known) continue;
      known = incarnation;
      for (const member of this.#members) {
        setTimeout(() => void this.#return(member, 0), Math.random() * this.#intervalMs);
      }
    }
  }

  /**
   * An agent is told by its socket that a new server refuses its old keys, and stops trying. Watching each socket would
   * cost the generator two more, so the nodes of a process stop together once each has been refused.
   */
  #hangUp(old: readonly (NodeLink | null)[]): void {
    setTimeout(() => {
      // A node that has come back meanwhile has another link by now.
      for (const link of old) link?.close();
    }, REFUSED_AFTER_MS);
  }

  async #return(member: Member, failures: number): Promise<void> {
    try {
      await this.#configure(member, null);
    } catch {
      const longest = Math.min(RETRY_FIRST_MS * 2 ** failures, RETRY_LONGEST_MS);
      setTimeout(() => void this.#return(member, failures + 1), longest * (0.5 + Math.random() / 2));
    }
  }

  #sign(name: string, curve: Member['curve']): Member['signed'] {
    const as = { name, privateKey: this.#privateKey };
    return { headers: signedHeaders(as, 'GET', this.#path(name, curve), ''), at: Date.now() };
  }

  #path(node: string, curve: Member['curve']): string {
    const query = `ccpk=${encodeURIComponent(curve.publicKey)}&version=3.0`;
    return `/organizations/${this.#order.org}/pushy/config/${node}?${query}`;
  }
}
