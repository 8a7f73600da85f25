import type { JobPreview } from '../api/types.gen.js';
import { Glyph, type GlyphName } from '../parts/glyph.jsx';
import { number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';

/** Names that are shown of each verdict. */
const NAMES = 200;

const REFUSALS: readonly (readonly [
  why: JobPreview['refusals'][number]['why'],
  glyph: GlyphName,
  tone: string,
  what: string,
])[] = [
  ['busy', 'play', 'run', 'busy with another job'],
  ['rehab', 'loop', 'warn', 'in rehab'],
  ['down', 'cross', 'bad', 'down'],
  ['unknown', 'bang', 'bad', 'not known'],
  ['not_allowed', 'ban', 'warn', 'do not take this command'],
  ['no_right', 'ban', 'warn', 'where you may not run commands'],
];

interface Props {
  /** Nodes that will be asked. */
  readonly asked: readonly string[];
  readonly refusals: JobPreview['refusals'];
  /** Of those who are asked. */
  readonly uncertain: readonly string[];
}

/** Which nodes would run it, and which would not, and why. */
export function Foresight({ asked, refusals, uncertain }: Props) {
  return (
    <>
      <div class="bar" aria-hidden="true">
        {asked.length > 0 && <span class="ok" style={{ flex: String(asked.length) }} />}
        {REFUSALS.map(([why, , tone]) => {
          const of = refusals.filter((each) => each.why === why).length;
          return of > 0 && <span key={why} class={tone} style={{ flex: String(of) }} />;
        })}
      </div>
      <ul class="verdicts">
        <Verdict glyph="check" tone="ok" count={asked.length} what="will be asked" names={asked} />
        {uncertain.length > 0 && (
          <Verdict
            glyph="dots"
            tone="idle"
            count={uncertain.length}
            what="of them may refuse: they do not tell what they take"
            names={uncertain}
          />
        )}
        {REFUSALS.map(([why, glyph, tone, what]) => {
          const of = refusals.filter((each) => each.why === why);
          return (
            of.length > 0 && (
              <Verdict
                key={why}
                glyph={glyph}
                tone={tone}
                count={of.length}
                what={what}
                names={of.map(({ node_name: name, reason }) => `${name}: ${reason}`)}
              />
            )
          );
        })}
      </ul>
    </>
  );
}

function Verdict({
  glyph,
  tone,
  count,
  what,
  names,
}: {
  readonly glyph: GlyphName;
  readonly tone: string;
  readonly count: number;
  readonly what: string;
  readonly names: readonly string[];
}) {
  return (
    <li>
      <details>
        <summary>
          <Glyph name={glyph} tone={tone} />
          <span>
            <strong class="number">{number(count)}</strong> {what}
          </span>
        </summary>
        <ul class="names">
          {names.slice(0, NAMES).map((name) => (
            <li key={name}>{safeText(name)}</li>
          ))}
          {names.length > NAMES && <li class="quiet">and {number(names.length - NAMES)} more</li>}
        </ul>
      </details>
    </li>
  );
}
