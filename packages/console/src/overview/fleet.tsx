import { countOwners, type Fleet, type FleetNode, OWNERS } from '../live/fleet.js';
import type { Loaded } from '../live/snapshot.js';
import { Failure, Waiting } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { Ago } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { OWNER_LOOKS } from '../statuses/nodes.js';
import { DownByHour } from './hours.jsx';

interface Props {
  readonly loaded: Loaded<Fleet>;
  readonly again: () => void;
}

/** How many nodes there are of each state. */
export function FleetPanel({ loaded, again }: Props) {
  const { org } = signedIn().api;
  if (loaded.state !== 'ready') {
    return (
      <section class="card">
        <header>
          <h2>Nodes</h2>
        </header>
        {loaded.state === 'loading' ? (
          <Waiting what="nodes" />
        ) : (
          <div class="inside">
            <Failure error={loaded.error} again={again} />
          </div>
        )}
      </section>
    );
  }
  const nodes = [...loaded.value.values()];
  const counts = countOwners(nodes);
  const latest = nodes.reduce<FleetNode | null>(
    (best, node) => (best === null || node.since > best.since ? node : best),
    null,
  );
  return (
    <section class="card">
      <header>
        <h2>
          <a class="plain-link" href={hrefOf(org, { name: 'nodes' })}>
            {plural(nodes.length, 'node')}
          </a>
        </h2>
        {latest !== null && (
          <span class="quiet cut">
            last change: {safeText(latest.name)} {OWNER_LOOKS[latest.owner].word} <Ago at={latest.since} word=" ago" />
          </span>
        )}
      </header>
      <div class="inside stack">
        <div class="bar" aria-hidden="true">
          {OWNERS.filter((owner) => counts[owner] > 0).map((owner) => (
            <span key={owner} class={OWNER_LOOKS[owner].tone} style={{ flex: String(counts[owner]) }} />
          ))}
        </div>
        <div class="tally">
          {OWNERS.map((owner) => (
            <a key={owner} href={hrefOf(org, { name: 'nodes' }, { owner })}>
              <Status look={OWNER_LOOKS[owner]} />
              <strong>{number(counts[owner])}</strong>
            </a>
          ))}
        </div>
        <DownByHour />
      </div>
    </section>
  );
}
