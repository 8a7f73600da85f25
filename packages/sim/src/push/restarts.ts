import { Violation } from '../kernel/violation.js';
import { AgentProcess } from './agent-process.js';
import { short } from './book.js';
import { ORG } from './node-request.js';
import type { NodePlace } from './places.js';
import type { ServerProcess } from './server-process.js';

interface Life {
  /** Spoken to in this step. */
  readonly spoken: Set<NodePlace>;
  /** Under which incarnation each node became a job's, as far as the server knew it. */
  readonly claims: Map<string, { readonly jobId: string; readonly incarnation: string }>;
}

/**
 * Push Jobs §4.5: an agent under another incarnation has lost whatever the one before it was doing. The server notices
 * with its first message, and a job that counted on the node hears of it in the same moment.
 */
export class Restarts {
  readonly #report: (violation: Violation) => void;
  /** What each life of a server knows: what was not stored when it ended is found out anew. */
  readonly #lives = new WeakMap<ServerProcess, Life>();

  constructor(report: (violation: Violation) => void) {
    this.#report = report;
  }

  /** A server sends something to the present agent of this node: it has verified a message of it. */
  spoken(server: ServerProcess, place: NodePlace): void {
    this.#life(server).spoken.add(place);
  }

  /** At the end of every step. */
  check(server: ServerProcess): void {
    const { claims, spoken } = this.#life(server);
    for (const place of spoken) this.#known(server, place);
    spoken.clear();
    for (const { name, incarnation } of server.nodes.registry.list(ORG.id)) {
      const owner = server.owners.ownerOf(ORG.id, name);
      if (owner?.kind !== 'job' || incarnation === null) {
        claims.delete(name);
        continue;
      }
      const claim = claims.get(name);
      if (claim?.jobId !== owner.jobId) claims.set(name, { jobId: owner.jobId, incarnation });
      else if (claim.incarnation !== incarnation) {
        this.#report(new Violation('restart', `${name} was restarted, and job ${short(owner.jobId)} goes on with it`));
      }
    }
  }

  #life(server: ServerProcess): Life {
    const life = this.#lives.get(server) ?? { spoken: new Set(), claims: new Map() };
    this.#lives.set(server, life);
    return life;
  }

  #known(server: ServerProcess, { agent, plan }: NodePlace): void {
    if (!(agent instanceof AgentProcess) || agent.daemon === null) return;
    const known = server.nodes.registry.get(ORG.id, plan.name)?.incarnation ?? null;
    if (known === agent.daemon.incarnation) return;
    this.#report(
      new Violation('restart', `${plan.name} was restarted, and the server that speaks to it does not know`),
    );
  }
}
