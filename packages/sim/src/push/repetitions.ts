import { Violation } from '../kernel/violation.js';
import { AgentProcess } from './agent-process.js';
import type { NodePlace } from './places.js';

/**
 * A message that the network delivers to an agent again must be without effect: what an attacker recorded and sends
 * again looks just like it.
 */
export class Repetitions {
  readonly #report: (violation: Violation) => void;
  #seen: {
    readonly place: NodePlace;
    readonly agent: AgentProcess;
    readonly machine: unknown;
    readonly sent: number;
  } | null = null;

  constructor(report: (violation: Violation) => void) {
    this.#report = report;
  }

  /** It arrives now; nothing else happens in this step. */
  arrives(place: NodePlace): void {
    const { agent, path } = place;
    if (!(agent instanceof AgentProcess) || agent.daemon === null) return;
    this.#seen = { place, agent, machine: agent.daemon.machine, sent: path.sent };
  }

  /** At the end of every step. */
  check(): void {
    const seen = this.#seen;
    this.#seen = null;
    if (seen === null || seen.agent.daemon === null) return;
    const { place, agent, machine, sent } = seen;
    const what = `${place.plan.name}, to which a message was repeated,`;
    if (agent.daemon?.machine !== machine) this.#report(new Violation('replay', `${what} acted on it`));
    else if (place.path.sent !== sent) this.#report(new Violation('replay', `${what} answered it`));
  }
}
