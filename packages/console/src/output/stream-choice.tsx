import type { ComponentChildren } from 'preact';

export const STREAMS = ['stdout', 'stderr'] as const;
export type Stream = (typeof STREAMS)[number];

interface Props {
  readonly stream: Stream;
  readonly onStream: (stream: Stream) => void;
  /** What is said of each besides. */
  readonly more?: (stream: Stream) => ComponentChildren;
}

/** Which of the two is shown. */
export function StreamChoice({ stream, onStream, more }: Props) {
  return (
    <fieldset class="choices">
      <legend class="unseen">Stream</legend>
      {STREAMS.map((each) => (
        <label key={each} class="chip">
          <input type="radio" name="stream" checked={stream === each} onChange={() => onStream(each)} />
          {each} {more?.(each)}
        </label>
      ))}
    </fieldset>
  );
}
