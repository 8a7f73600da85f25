import type { JobPreview } from '../api/types.gen.js';
import { Glyph, type GlyphName } from '../parts/glyph.jsx';
import { number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { byReason } from './by-reason.js';

/** Names that are shown of each verdict at once, and when somebody asks for more. */
const FIRST_NAMES = 10;
const MOST_NAMES = 200;

const REFUSALS: readonly (readonly [
  why: Exclude<JobPreview['refusals'][number]['why'], 'not_allowed'>,
  glyph: GlyphName,
  tone: string,
  what: string,
])[] = [
  ['busy', 'play', 'run', 'busy with another job'],
  ['rehab', 'loop', 'warn', 'in rehab'],
  ['down', 'cross', 'bad', 'down'],
  ['unknown', 'bang', 'bad', 'not known'],
  ['no_right', 'ban', 'warn', 'where you may not run commands'],
];
const REFUSING = { glyph: 'ban', tone: 'warn' } as const;

interface Props {
  readonly nodes: readonly string[];
  readonly refusals: JobPreview['refusals'];
  /** Of those who are asked. */
  readonly doubts: JobPreview['doubts'];
}

/** Which nodes would run it, and which would not, and why. */
export function Foresight({ nodes, refusals, doubts }: Props) {
  const refused = new Set(refusals.map(({ node_name: name }) => name));
  const asked = nodes.filter((name) => !refused.has(name));
  const refusing = refusals.filter(({ why }) => why === 'not_allowed');
  const out = REFUSALS.map(([why, glyph, tone, what]) => ({
    ...{ why, glyph, tone, what },
    of: refusals.filter((each) => each.why === why),
  })).filter(({ of }) => of.length > 0);
  return (
    <>
      <div class="bar" aria-hidden="true">
        {asked.length > 0 && <span class="ok" style={{ flex: String(asked.length) }} />}
        {refusing.length > 0 && <span class={REFUSING.tone} style={{ flex: String(refusing.length) }} />}
        {out.map(({ why, tone, of }) => (
          <span key={why} class={tone} style={{ flex: String(of.length) }} />
        ))}
      </div>
      <ul class="verdicts">
        {asked.length > 0 && <Verdict glyph="check" tone="ok" what="will be asked" names={asked} />}
        {byReason(doubts).map(({ reason, names }) => (
          <Verdict key={reason} glyph="dots" tone="idle" what={`of them may refuse: ${reason}`} names={names} />
        ))}
        {byReason(refusing).map(({ reason, names }) => (
          <Verdict key={reason} {...REFUSING} what={`will refuse: ${reason}`} names={names} />
        ))}
        {out.map(({ why, glyph, tone, what, of }) => (
          <Verdict
            key={why}
            {...{ glyph, tone, what }}
            names={of.map(({ node_name: name, reason }) =>
              reason === what || why === 'no_right' || why === 'unknown' ? name : `${name}: ${reason}`,
            )}
          />
        ))}
      </ul>
    </>
  );
}

interface VerdictProps {
  readonly glyph: GlyphName;
  readonly tone: string;
  readonly what: string;
  readonly names: readonly string[];
}

function Verdict({ glyph, tone, what, names }: VerdictProps) {
  const more = names.length - FIRST_NAMES;
  return (
    <li>
      <p class="line">
        <Glyph name={glyph} tone={tone} />
        <span>
          <strong class="number">{number(names.length)}</strong> {safeText(what)}
        </span>
      </p>
      <Names names={names.slice(0, FIRST_NAMES)} />
      {more > 0 && (
        <details>
          <summary>{number(more)} more</summary>
          <Names names={names.slice(FIRST_NAMES, MOST_NAMES)} />
          {names.length > MOST_NAMES && <p class="quiet">and {plural(names.length - MOST_NAMES, 'other')}</p>}
        </details>
      )}
    </li>
  );
}

function Names({ names }: { readonly names: readonly string[] }) {
  return (
    <ul class="names">
      {names.map((name) => (
        <li key={name}>{safeText(name)}</li>
      ))}
    </ul>
  );
}
