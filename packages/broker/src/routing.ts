import type { Binding, Exchange } from './topology.js';

/** Whether a binding with this key takes a message with that one. */
export function matches(type: Exchange['type'], binding: string, key: string): boolean {
  if (type === 'fanout') return true;
  return type === 'direct' ? binding === key : fits(binding.split('.'), key.split('.'));
}

/** `*` is one word, `#` any number of them. Remembers which ends of the pattern fit so far: no pattern makes it slow. */
function fits(pattern: readonly string[], words: readonly string[]): boolean {
  let reached = closure(pattern, new Set([0]));
  for (const word of words) {
    const next = new Set<number>();
    for (const at of reached) {
      const part = pattern[at];
      if (part === '#') next.add(at);
      else if (part === '*' || part === word) next.add(at + 1);
    }
    reached = closure(pattern, next);
  }
  return reached.has(pattern.length);
}

/** A `#` may stand for nothing. */
function closure(pattern: readonly string[], reached: Set<number>): Set<number> {
  for (const at of reached) if (pattern[at] === '#') reached.add(at + 1);
  return reached;
}

/** Names of the queues that take it, each once. */
export function targets(exchange: Pick<Exchange, 'type'>, bindings: readonly Binding[], key: string): string[] {
  const found = bindings.filter((binding) => matches(exchange.type, binding.key, key));
  return [...new Set(found.map(({ queue }) => queue))];
}
