import type { UpgradeOutcome } from './end.js';
import type { Change, LivingHost } from './records.js';

/** What an agent that takes over in the middle of an upgrade knows of it. */
export interface Resumed {
  readonly change: Change;
  /** That of the agent before, under which this one goes on; null: it cannot. */
  readonly incarnation: string | null;
  /** How the upgrade has ended, once this agent has reached the server. */
  readonly outcome: UpgradeOutcome;
}

export interface Present {
  readonly version: string;
  readonly boot: string | null;
  readonly hosts: readonly LivingHost[];
}

/**
 * The server takes an agent of the same incarnation for one that has what it was given (N11). So this agent goes on under it, and the
 * push job with it, only if nothing can be lost: the machine was not started anew, and every process that ran tasks still lives.
 */
export function resumed(change: Change, { version, boot, hosts }: Present): Resumed {
  const alive = (host: LivingHost) =>
    hosts.some(({ directory, pid }) => directory === host.directory && pid === host.pid);
  const whole = boot !== null && boot === change.boot && change.hosts.every(alive);
  return { change, incarnation: whole ? change.incarnation : null, outcome: outcomeOf(change, version) };
}

function outcomeOf({ phase, from, to, reason }: Change, version: string): UpgradeOutcome {
  if (phase === 'tried' && version === to) {
    return { outcome: 'succeeded', exitCode: 0, signal: null, reason: `version ${to} runs in the place of ${from}` };
  }
  // Unless it could not be written down, it says why.
  const why = reason ?? `version ${to} did not prove itself`;
  return { outcome: 'failed', exitCode: null, signal: null, reason: `rolled back to version ${version}: ${why}` };
}
