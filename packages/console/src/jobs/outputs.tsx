import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import type { LongJob, LongJobOutputs } from '../api/types.gen.js';
import { place, setParameters } from '../navigation.js';
import { Viewer } from '../output/viewer.jsx';
import { Failure, Note, Waiting } from '../parts/note.jsx';
import { bytes, number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Ago } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { hasEnded } from '../statuses/jobs.js';
import { jobPath } from './read.js';
import { placeOfOutputs, withoutDotFiles } from './written.js';

const MOST = 250;

/** What the job wrote: its folders, and one file of them, followed while it grows. */
export function Outputs({ job }: { readonly job: LongJob }) {
  const { api } = signedIn();
  const { query } = place.value;
  const dir = trimmed(query.get('dir') ?? '');
  const file = query.get('file');
  const listed = useSignal<LongJobOutputs | null>(null);
  const error = useSignal<ApiError | null>(null);
  const tries = useSignal(0);
  /** Dot files, too, which are the server's own, or meant to be so. */
  const all = useSignal(false);
  useEffect(() => {
    const reading = new AbortController();
    const path = `${jobPath(job.id)}/outputs/listings${dir === '' ? '' : `/${encoded(dir)}`}`;
    api.get<LongJobOutputs>(path, { naked: true, limit: MOST }, reading.signal).then(
      ({ body }) => {
        listed.value = body;
        error.value = null;
      },
      (thrown: unknown) => {
        if (!reading.signal.aborted) error.value = apiError(thrown);
      },
    );
    return () => reading.abort();
    // It writes more while it runs, and elsewhere once it is archived.
  }, [job.id, job.status, dir, tries.value]);
  if (error.value !== null) {
    return (
      <div class="inside">
        {job.workPath === null ? (
          <p class="quiet">It has written nothing yet.</p>
        ) : (
          <Failure error={error.value} again={() => (tries.value += 1)} />
        )}
      </div>
    );
  }
  if (listed.value === null) return <Waiting what="what it wrote" />;
  const here = hrefOf(api.org, { name: 'long-job', id: job.id }, { view: 'outputs' });
  const open = file === null ? null : trimmed(file);
  const told = withoutDotFiles(listed.value, open);
  const hidden = listed.value.length - told.length;
  return (
    <>
      <p class="inside line">
        <span class="grow break">
          {dir === '' ? (
            <span class="quiet">{placeOfOutputs(job)}</span>
          ) : (
            <>
              <a href={here}>all</a> <span class="mono">/ {safeText(dir)}</span>
            </>
          )}
        </span>
        <button type="button" class="button small" onClick={() => (tries.value += 1)}>
          Look again
        </button>
      </p>
      {listed.value.length === 0 ? (
        <p class="inside quiet">Nothing is there.</p>
      ) : (
        <ul class="lines">
          {(all.value ? listed.value : told).map(({ name, path, length, type, lastModified }) => (
            <li key={path}>
              <div class="line">
                <button
                  type="button"
                  class="button plain small mono grow start"
                  aria-pressed={open === trimmed(path)}
                  onClick={() =>
                    setParameters(
                      type === 'dir'
                        ? { dir: trimmed(path), file: null, line: null }
                        : { file: trimmed(path), line: null },
                      {
                        replace: false,
                      },
                    )
                  }
                >
                  <span class="cut">
                    {safeText(name)}
                    {type === 'dir' && '/'}
                  </span>
                </button>
                <span class="quiet number">{type === 'dir' ? 'folder' : bytes(length)}</span>
                <span class="quiet wide">
                  <Ago at={Date.parse(lastModified)} word=" ago" />
                </span>
              </div>
            </li>
          ))}
        </ul>
      )}
      {hidden > 0 && !all.value && (
        <p class="inside">
          <button type="button" class="button small" onClick={() => (all.value = true)}>
            Show all ({number(hidden)} hidden)
          </button>
        </p>
      )}
      {listed.value.length === MOST && (
        <div class="inside">
          <Note>The first {MOST} are shown.</Note>
        </div>
      )}
      {open !== null && (
        <>
          <p class="inside mono break">{safeText(open)}</p>
          <Viewer
            key={open}
            path={api.path(`${jobPath(job.id)}/outputs/media/${encoded(open)}`)}
            fileName={open.slice(open.lastIndexOf('/') + 1)}
            goesOn={!hasEnded(job.status)}
            grows
          />
        </>
      )}
    </>
  );
}

function trimmed(path: string): string {
  return path.replace(/^\/+|\/+$/g, '');
}

function encoded(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
