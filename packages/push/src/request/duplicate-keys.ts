/** A name given twice in one object: at the top of the body, or in its `env`. */
export interface DuplicateKey {
  readonly inside: 'body' | 'env';
  readonly key: string;
}

interface Frame {
  readonly object: boolean;
  /** Names seen; null for objects nobody asks about. */
  readonly keys: Set<string> | null;
  readonly inside: 'body' | 'env';
  key: string;
  expectsKey: boolean;
}

/**
 * Finds the first duplicate key, which `JSON.parse` hides by keeping the last one (sheet §7.5 row 9).
 * `text` must be valid JSON. Linear, and without recursion: nesting costs memory, never the stack.
 */
export function findDuplicateKey(text: string): DuplicateKey | null {
  const stack: Frame[] = [];
  for (let at = 0; at < text.length; at++) {
    const frame = stack.at(-1);
    switch (text[at]) {
      case '{':
        stack.push(openObject(stack));
        break;
      case '[':
        stack.push({ object: false, keys: null, inside: 'body', key: '', expectsKey: false });
        break;
      case '}':
      case ']':
        stack.pop();
        break;
      case ',':
        if (frame !== undefined) frame.expectsKey = frame.object;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (frame?.expectsKey === true) {
          frame.expectsKey = false;
          if (frame.keys !== null) {
            frame.key = String(JSON.parse(text.slice(at, end + 1)));
            if (frame.keys.has(frame.key)) return { inside: frame.inside, key: frame.key };
            frame.keys.add(frame.key);
          }
        }
        at = end;
        break;
      }
      default:
        break;
    }
  }
  return null;
}

function openObject(stack: readonly Frame[]): Frame {
  const inBody = stack.length === 0;
  const inEnv = stack.length === 1 && stack[0]?.key === 'env';
  return {
    object: true,
    keys: inBody || inEnv ? new Set() : null,
    inside: inEnv ? 'env' : 'body',
    key: '',
    expectsKey: true,
  };
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}
