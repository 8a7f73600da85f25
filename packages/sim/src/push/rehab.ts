import { Violation } from '../kernel/violation.js';
import { ORG } from './node-request.js';
import type { NodePlace } from './places.js';
import type { ServerProcess } from './server-process.js';

/** §5.5.3: rehab ends when the node has nothing of any job left; until then it must not be offered another one. */
export class Rehab {
  readonly #report: (violation: Violation) => void;
  /** Of each life of a server, the nodes that are in rehab. */
  readonly #within = new WeakMap<ServerProcess, Set<string>>();

  constructor(report: (violation: Violation) => void) {
    this.#report = report;
  }

  /** At the end of every step. */
  check(server: ServerProcess, places: readonly NodePlace[]): void {
    const within = this.#within.get(server) ?? new Set<string>();
    this.#within.set(server, within);
    for (const { plan, room } of places) {
      const kind = server.owners.ownerOf(ORG.id, plan.name)?.kind;
      if (kind === 'rehab') within.add(plan.name);
      else if (within.delete(plan.name) && kind === 'idle' && room.running.size > 0) {
        this.#report(new Violation('rehab', `${plan.name} is idle, and a command runs on it`));
      }
    }
  }
}
