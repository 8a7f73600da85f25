import { ago, isoSeconds } from '@muster/base';
import type { DropCause } from '@muster/wire';
import type { Aspects } from './aspects.js';
import type { KnownNode } from './known-node.js';
import { type LivenessRules, missedIntervals } from './machine.js';
import type { Standing } from './types.js';

export interface Explanation {
  readonly node_name: string;
  readonly available: boolean;
  /** One paragraph, for people. */
  readonly explanation: string;
}

/** Why a node can or cannot be given something to do, from what this server has seen of it. */
export function explain(
  node: KnownNode,
  aspects: Aspects,
  rules: LivenessRules,
  now: number,
  /** It is down, and no key of it is good. */
  keyless = false,
): Explanation {
  const standing = () => (node.status === 'up' ? aspects.explain(node, now) : down(node, aspects, rules, now));
  const { available, sentences } = keyless ? { available: false, sentences: [withoutKey(node)] } : standing();
  const explanation = [...sentences, ...lateness(node, rules, now), ...(available ? [] : hints(node, now))].join(' ');
  return { node_name: node.name, available, explanation };
}

function down(node: KnownNode, aspects: Aspects, rules: LivenessRules, now: number): Standing {
  return { available: false, sentences: aspects.explainDown(node) ?? [whyDown(node, rules, now)] };
}

function withoutKey({ name }: KnownNode): string {
  return (
    `${name} is down: it has no key. Keys that were taken away for good are listed by muster key revoked, ` +
    `and those that have expired by muster node keys ${name}; give it another: muster node add-key ${name}.`
  );
}

function whyDown(node: KnownNode, rules: LivenessRules, now: number): string {
  const { name, heardAt, diagnostics, liveness } = node;
  if (node.stoppedAt !== null) return `${name} is down: its agent was stopped ${ago(now - node.stoppedAt)} ago.`;
  if (heardAt !== null) {
    const run = liveness.status === 'down' && liveness.run !== null;
    return run
      ? `${name} is down; its heartbeats have come back and it is up after ${rules.onlineThreshold} intervals in a row.`
      : `${name} is down: its last heartbeat came ${ago(now - heardAt)} ago, ` +
          `${missedIntervals(heardAt, now, rules)} intervals have been missed.`;
  }
  if (diagnostics.configuredAt !== null) {
    return (
      `${name} fetched its configuration ${ago(now - diagnostics.configuredAt)} ago, but no heartbeat has come since: ` +
      'its agent cannot reach the command port, or is refused there.'
    );
  }
  return node.incarnation === null
    ? `${name} has never been seen: no agent has asked for its configuration. Check that the agent runs and its server URL.`
    : `${name} is down and has not been heard since this server started.`;
}

function lateness(node: KnownNode, rules: LivenessRules, now: number): string[] {
  if (node.liveness.status !== 'up') return [];
  const missed = missedIntervals(node.liveness.heardAt, now, rules);
  return missed > 0 ? [`Its heartbeat is late by ${missed} of ${rules.offlineThreshold} intervals.`] : [];
}

function hints(node: KnownNode, now: number): string[] {
  // Between the server and what it hosts itself there is nothing that anybody could mend.
  if (node.via === 'ssh') return [];
  const { refused, handshakesRefused, admittedUntil, dropped } = node.diagnostics;
  const found: string[] = [];
  if (refused !== null)
    found.push(`${ago(now - refused.at)} ago a request of it was refused: ${refusal(refused.code)}.`);
  if (handshakesRefused > 0 && admittedUntil !== null) {
    found.push(
      `CURVE refused ${handshakesRefused} of its connections: its admission expired at ${isoSeconds(admittedUntil)}, ` +
        'and it must fetch its configuration again.',
    );
  }
  if (dropped !== null) {
    found.push(`${ago(now - dropped.at)} ago a message in its name was dropped: ${dropReason(dropped.cause)}.`);
  }
  return found;
}

function refusal(code: string): string {
  switch (code) {
    case 'clock_skew':
      return 'its clock differs from the server’s by 15 minutes or more';
    case 'invalid_signature':
      return 'it signed with another key than the one registered for it';
    case 'unknown_principal':
      return 'its key is not registered';
    case 'key_expired':
      return 'its key has expired; give it another (muster node add-key)';
    default:
      return code;
  }
}

function dropReason(cause: DropCause): string {
  switch (cause) {
    case 'bad_timestamp':
      return 'its clock is skewed against the server’s';
    case 'bad_sig':
      return 'it was not signed with the session’s key; the agent must fetch its configuration again';
    case 'no_session':
      return 'no session is agreed, as after a start of the server, or when its key was removed or has expired; the agent must fetch its configuration again';
    case 'replayed':
      return 'it had been received before';
    case 'rate_limited':
      return 'it sends more than a node may';
    case 'body_too_big':
    case 'header_too_big':
      return 'it was too large';
    case 'frames':
    case 'bad_header':
    case 'parse_fail':
    case 'unknown_type':
      return `it was malformed (${cause})`;
    case 'unknown_org':
    case 'unknown_node':
      return 'it was signed by this node, but named another';
  }
}
