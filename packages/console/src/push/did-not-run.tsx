import type { JobNode } from '../api/types.js';
import { number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { JOB_NODE_LOOKS } from '../statuses/push.js';
import { didNotRun } from './ran.js';

const NAMES = 6;

/** Below the results: nodes that have none, and why. */
export function DidNotRun({ id, nodes }: { readonly id: string; readonly nodes: readonly JobNode[] }) {
  const { org } = signedIn().api;
  const groups = didNotRun(nodes);
  if (groups.length === 0) return null;
  return (
    <>
      <p class="inside quiet">These did not run it:</p>
      <ul class="lines">
        {groups.map(({ status, reason, names }) => (
          <li key={`${status} ${reason}`} class="result">
            <div class="line wraps">
              <strong class="number unbroken">{number(names.length)} ×</strong>
              <Status look={JOB_NODE_LOOKS[status]} />
              <span class="quiet grow break">{safeText(reason)}</span>
              <a class="button small" href={hrefOf(org, { name: 'job', id }, { view: 'table', status })}>
                List
              </a>
            </div>
            <p class="quiet break">
              {names.slice(0, NAMES).map((name) => (
                <>
                  <a href={hrefOf(org, { name: 'node', node: name })}>{safeText(name)}</a>{' '}
                </>
              ))}
              {names.length > NAMES && `and ${number(names.length - NAMES)} more`}
            </p>
          </li>
        ))}
      </ul>
    </>
  );
}
