import { useSignal } from '@preact/signals';
import type { JobResults } from '../api/types.gen.js';
import type { JobNodeStatus } from '../api/types.js';
import { isJobNodeStatus } from '../api/types.js';
import { useReadAgain } from '../live/read-again.js';
import { LinkAction } from '../parts/link-action.jsx';
import { Failure, Waiting } from '../parts/note.jsx';
import { bytes, number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { endText } from '../push/parts.jsx';
import { hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';
import { JOB_NODE_LOOKS } from '../statuses/push.js';
import { plainText } from './ansi.js';
import { diffOf } from './diff.js';
import { STREAMS } from './stream-choice.jsx';

type Result = JobResults['results'][number];
type Beginning = Result['stdout'];

/** Nodes with the same result, together: read one output instead of all. `version`: read again when it changes. */
export function Results({
  id,
  version,
  captured,
}: {
  readonly id: string;
  readonly version: string;
  readonly captured: boolean;
}) {
  const { api } = signedIn();
  const { value: results, error } = useReadAgain<JobResults>({
    ...{ id, version, afterMs: 1000 },
    read: (signal) => api.get<JobResults>(`/pushy/jobs/${id}/results`, { limit: 50 }, signal),
  });
  if (error !== null) {
    return (
      <div class="inside">
        <Failure error={error} />
      </div>
    );
  }
  if (results === null) return <Waiting what="results" />;
  const { results: groups, groups: all, nodes } = results;
  if (groups.length === 0) return <p class="inside quiet">No node has ended its command yet.</p>;
  return (
    <>
      <p class="inside quiet number">
        {plural(nodes, 'node')} in {plural(all, 'group')} of the same result
        {all > groups.length && `, of which the ${groups.length} largest are shown`}.
      </p>
      <ul class="lines">
        {groups.map((group, place) => (
          <Group
            key={group.group}
            id={id}
            group={group}
            captured={captured}
            largest={place === 0 ? null : (groups[0] ?? null)}
          />
        ))}
      </ul>
    </>
  );
}

function Group({
  id,
  group,
  captured,
  largest,
}: {
  readonly id: string;
  readonly group: Result;
  readonly captured: boolean;
  /** What it is compared with; null: it is this one. */
  readonly largest: Result | null;
}) {
  const { org } = signedIn().api;
  const { status, count, nodes } = group;
  const look = JOB_NODE_LOOKS[isJobNodeStatus(status) ? status : ('failed' satisfies JobNodeStatus)];
  const job = { name: 'job', id } as const;
  return (
    <li class="result">
      <div class="line wraps">
        <strong class="number unbroken">{number(count)} ×</strong>
        <Status look={look} />
        <span class="quiet grow cut">{endText(group)}</span>
        <span class="actions">
          <a class="button small" href={hrefOf(org, job, { view: 'table', group: group.group })}>
            List
          </a>
          <LinkAction
            label={`Rerun ${count === 1 ? 'it' : `these ${number(count)}`} …`}
            may={mayI('push:execute')}
            small
            href={hrefOf(org, { name: 'new-job' }, { from: id, result: group.group })}
          />
        </span>
      </div>
      <p class="quiet break">
        {nodes.slice(0, 6).map((name) => (
          <>
            <a href={hrefOf(org, job, { view: 'output', node: name })}>{safeText(name)}</a>{' '}
          </>
        ))}
        {count > 6 && `and ${number(count - Math.min(6, nodes.length))} more`}
      </p>
      {captured && (
        <>
          <Stream name="stdout" beginning={group.stdout} />
          {group.stderr.bytes !== 0 && <Stream name="stderr" beginning={group.stderr} />}
          {largest !== null && <Difference from={largest} to={group} />}
        </>
      )}
    </li>
  );
}

/** What is otherwise than in the largest group, of the beginnings of both. */
function Difference({ from, to }: { readonly from: Result; readonly to: Result }) {
  const open = useSignal(false);
  return (
    <details onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>What is otherwise than in the largest group</summary>
      {open.value &&
        STREAMS.map((name) => {
          const [before, after] = [linesOf(from[name]), linesOf(to[name])];
          const changes = before === null || after === null ? null : diffOf(before, after);
          if (changes === null) return <p key={name}>{name}: cannot be compared</p>;
          if (changes.every(({ kind }) => kind === 'same')) return null;
          return (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
            <section key={name} class="shown" tabIndex={0} aria-label={`Difference of ${name}`}>
              <pre>
                <span class="quiet">{`${name}\n`}</span>
                {changes.map(({ kind, line }, at) => (
                  <span key={at} class={`change ${kind}`}>
                    {`${SIGNS[kind]} ${line}\n`}
                  </span>
                ))}
              </pre>
            </section>
          );
        })}
    </details>
  );
}

const SIGNS = { same: ' ', gone: '−', new: '+' } as const;

/** Null: not known, or no text. */
function linesOf({ bytes: written, text }: Beginning): readonly string[] | null {
  if (written === 0) return [];
  if (written === null || text === undefined) return null;
  const lines = safeText(plainText(text).replaceAll('\r\n', '\n')).split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

function Stream({ name, beginning }: { readonly name: string; readonly beginning: Beginning }) {
  if (beginning.bytes === null) return <p class="quiet">{name}: not known</p>;
  if (beginning.bytes === 0) return <p class="quiet">{name}: nothing</p>;
  const text =
    beginning.text === undefined ? '(no text)' : safeText(plainText(beginning.text).replaceAll('\r\n', '\n'));
  const more = beginning.bytes - (beginning.text?.length ?? 0);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <section class="shown" tabIndex={0} aria-label={`Beginning of ${name}`}>
      <pre>
        {name === 'stderr' && <span class="quiet">{'stderr\n'}</span>}
        {text}
        {more > 0 && beginning.bytes > 2048 && <span class="quiet">{`\n… ${bytes(beginning.bytes)} in all`}</span>}
      </pre>
    </section>
  );
}
