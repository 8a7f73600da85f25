import { barsOf, HEIGHT } from './bars.js';

interface Props {
  readonly values: readonly number[];
  /** What it shows, for those who do not see it. */
  readonly text: string;
}

/** A bar and the gap after it. */
const STEP = 4;

/** Small bars, one for each value. */
export function Sparkline({ values, text }: Props) {
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${values.length * STEP - 1} ${HEIGHT}`}
      role="img"
      aria-label={text}
      preserveAspectRatio="none"
    >
      {barsOf(values).map((height, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: each is the bar of its place
        <rect key={at} x={at * STEP} y={HEIGHT - height} width={STEP - 1} height={height} fill="currentColor" />
      ))}
    </svg>
  );
}
