import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import type { JobPreview } from '../api/types.gen.js';
import { type Loaded, throttled } from '../live/snapshot.js';
import { Glyph } from '../parts/glyph.jsx';
import { Failure, Waiting } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { signedIn } from '../session/session.js';
import { Foresight } from './foresight.jsx';
import { whoCan } from './who-can.js';
import { shareOf, type Wish } from './wish.js';

const MOMENT_MS = 300;
/** Status of what a limit refuses that passes by itself, and how soon it is asked for again. */
const LIMITED = 429;
const LIMITED_MS = 5000;
/** The preview follows the fleet, but reads it again at most so often. */
const AGAIN_MS = 2000;

export type Foreseen =
  | { readonly state: 'nothing' }
  | { readonly state: 'looking' }
  | { readonly state: 'failed'; readonly error: ApiError }
  /** `of`: what was asked. */
  | { readonly state: 'seen'; readonly of: string; readonly preview: JobPreview };

/**
 * What the server foresees of a job, a moment after it was asked, and again when the fleet has changed. Until then what was foreseen
 * before is still seen.
 * @param asked As JSON; null: nothing can be asked yet.
 */
export function useForeseen(
  asked: string | null,
  fleet: Loaded<unknown>,
): { readonly foreseen: Foreseen; readonly look: () => void } {
  const { api } = signedIn();
  const foreseen = useSignal<Foreseen>({ state: 'nothing' });
  const look = useSignal<() => void>(() => {});
  useEffect(() => {
    if (asked === null) {
      foreseen.value = { state: 'nothing' };
      return;
    }
    let looking = new AbortController();
    const run = async (): Promise<void> => {
      looking.abort();
      looking = new AbortController();
      const { signal } = looking;
      try {
        const preview = await api.post<JobPreview>('/pushy/jobs/preview', JSON.parse(asked), signal);
        foreseen.value = { state: 'seen', of: asked, preview };
      } catch (thrown) {
        if (signal.aborted) return;
        const error = apiError(thrown);
        foreseen.value = { state: 'failed', error };
        if (error.status === LIMITED) timer = setTimeout(() => void run(), LIMITED_MS);
      }
    };
    if (foreseen.value.state !== 'seen') foreseen.value = { state: 'looking' };
    let timer = setTimeout(() => void run(), MOMENT_MS);
    const again = throttled(AGAIN_MS, () => void run());
    look.value = again.ask;
    return () => {
      clearTimeout(timer);
      again.stop();
      looking.abort();
    };
  }, [asked]);
  useEffect(() => {
    if (fleet.state === 'ready' && foreseen.peek().state === 'seen') look.peek()();
  }, [fleet]);
  return { foreseen: foreseen.value, look: () => look.peek()() };
}

/** Of a job whose quorum cannot be reached. */
export const STARTS_NOWHERE = 'As it stands the job would start nowhere.';

const NOTHING_CHOSEN: ReadonlySet<string> = new Set(['no_nodes_matched', 'no_job_nodes_matched']);

interface PreviewProps {
  readonly foreseen: Foreseen;
  /** Something else is asked by now. */
  readonly old: boolean;
  readonly wish: Wish;
  readonly onQuorum: (quorum: string) => void;
}

/** Who would run it, who would not, and whether that is enough. */
export function Preview({ foreseen, old, wish, onQuorum }: PreviewProps) {
  switch (foreseen.state) {
    case 'nothing':
      return <p class="inside quiet">Choose nodes, and see here who would run the command.</p>;
    case 'looking':
      return <Waiting what="the preview" />;
    case 'failed':
      // While somebody types, that is nothing to be alarmed about.
      if (NOTHING_CHOSEN.has(foreseen.error.code)) return <p class="inside">No node matches.</p>;
      return (
        <div class="inside">
          <Failure error={foreseen.error} />
        </div>
      );
    case 'seen':
      break;
  }
  const { count, nodes, refusals, doubts, approval, quorum } = foreseen.preview;
  const { needed, most } = quorum;
  const reachable = quorum.verdict !== 'unreachable';
  return (
    <div class={old ? 'inside stack old' : 'inside stack'}>
      <p>
        <strong class="number">{plural(count, 'node')}</strong> {count === 1 ? 'matches' : 'match'}.
      </p>
      {approval && <p>It waits for others to agree before anything runs.</p>}
      <Foresight nodes={nodes} refusals={refusals} doubts={doubts} />
      {shareOf(wish.quorum) !== null && (
        <p class="line">
          {reachable ? <Glyph name="check" tone="ok" /> : <Glyph name="cross" tone="bad" />}
          <span>
            Quorum: <strong class="number">{number(needed)}</strong> of {number(count)} must be ready; {whoCan(quorum)}.{' '}
            {!reachable && STARTS_NOWHERE}
          </span>
        </p>
      )}
      {shareOf(wish.quorum) !== null && !reachable && most > 0 && (
        <p>
          <button type="button" class="button small" onClick={() => onQuorum(String(most))}>
            Let {number(most)} be enough
          </button>
        </p>
      )}
    </div>
  );
}
