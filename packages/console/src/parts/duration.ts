const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** As people say it: the largest unit that is reached, in whole numbers. */
export function duration(ms: number): string {
  for (const [unit, size] of UNITS) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
  return 'now';
}

/** How long something took: tenths of a second below ten, and two units above a minute. */
export function span(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 0.1) return '< 0.1 s';
  if (seconds < 10) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const at = UNITS.findIndex(([, size]) => ms >= size);
  const [unit, size] = UNITS[at] ?? ['s', 1000];
  const [smaller, part] = UNITS[at + 1] ?? ['', 0];
  const rest = part === 0 ? 0 : Math.floor((ms % size) / part);
  return `${Math.floor(ms / size)} ${unit}${rest > 0 ? ` ${rest} ${smaller}` : ''}`;
}

/** Of what is to come: to the nearest of the largest unit, so that a moment less than two days are two. */
export function untilThen(ms: number): string {
  for (const [at, [unit, size]] of UNITS.entries()) {
    const [, smaller] = UNITS[at + 1] ?? [unit, size];
    if (Math.round(ms / smaller) * smaller >= size) return `${Math.round(ms / size)} ${unit}`;
  }
  return 'now';
}

/** `1:02:03`, for what goes on. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number) => String(value).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}
