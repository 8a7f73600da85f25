import { span } from '../parts/duration.js';
import { bytes } from '../parts/numbers.js';

/** Facts of agents that move by themselves, and are told again only with others. */
const OF_THEN: ReadonlySet<string> = new Set(['uptime', 'memory_free']);

/** A fact as people read it: those that every agent tells have their units. Pure. */
export function factText(name: string, value: string | number | boolean): string {
  const text = typeof value === 'number' ? withUnit(name, value) : String(value);
  return OF_THEN.has(name) ? `${text} when it was told` : text;
}

function withUnit(name: string, value: number): string {
  switch (name) {
    case 'memory':
    case 'memory_free':
      return bytes(value);
    case 'uptime':
      return span(value * 1000);
    default:
      return String(value);
  }
}
