import { AgentProcess } from './agent-process.js';
import { short } from './ledger.js';
import { ORG } from './node-request.js';
import type { Place } from './place.js';
import type { ServerProcess } from './server-process.js';
import { Violation } from './violation.js';

/**
 * Push Jobs §4.5: an agent under another incarnation has lost whatever the one before it was doing. The server notices
 * with its first message, and a job that counted on the node hears of it in the same moment.
 */
export class Restarts {
  readonly #report: (violation: Violation) => void;
  #server: ServerProcess | null = null;
  /** Spoken to in this step. */
  readonly #spoken = new Set<Place>();
  /** Under which incarnation each node became a job's, as far as this life of the server knew it. */
  readonly #claims = new Map<string, { readonly jobId: string; readonly incarnation: string }>();

  constructor(report: (violation: Violation) => void) {
    this.#report = report;
  }

  /** The server sends something to the present agent of this node: it has verified a message of it. */
  spoken(place: Place): void {
    this.#spoken.add(place);
  }

  /** At the end of every step. */
  check(server: ServerProcess): void {
    for (const place of this.#spoken) this.#known(server, place);
    this.#spoken.clear();
    // What was not stored when the server died is found out anew.
    if (this.#server !== server) this.#claims.clear();
    this.#server = server;
    for (const { name, owner, incarnation } of server.nodes.registry.list(ORG.id)) {
      if (owner.kind !== 'job' || incarnation === null) {
        this.#claims.delete(name);
        continue;
      }
      const claim = this.#claims.get(name);
      if (claim?.jobId !== owner.jobId) this.#claims.set(name, { jobId: owner.jobId, incarnation });
      else if (claim.incarnation !== incarnation) {
        this.#report(new Violation('restart', `${name} was restarted, and job ${short(owner.jobId)} goes on with it`));
      }
    }
  }

  #known(server: ServerProcess, { agent, plan }: Place): void {
    if (!(agent instanceof AgentProcess) || agent.daemon === null) return;
    const known = server.nodes.registry.get(ORG.id, plan.name)?.incarnation ?? null;
    if (known === agent.daemon.incarnation) return;
    this.#report(
      new Violation('restart', `${plan.name} was restarted, and the server that speaks to it does not know`),
    );
  }
}
