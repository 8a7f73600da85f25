import { shareText } from '../../share.js';

/** Characters of a signature that are shown: nobody reads it, but two can be told apart. */
const SIGNATURE_SHOWN = 12;
const INDENT = '  ';

/** What an order says under one name, as lines for people. */
export function orderLines(name: string, value: unknown): readonly string[] {
  if (name === 'quorum') return [quorumText(value)];
  if (name === 'signature' && typeof value === 'string') return [`${value.slice(0, SIGNATURE_SHOWN)}…`];
  if (typeof value === 'string') return value.trimEnd().split('\n');
  if (typeof value !== 'object' || value === null) return [String(value)];
  if (Array.isArray(value)) return listLines(value);
  return Object.entries(value)
    .filter(([, inner]) => inner !== null && inner !== undefined)
    .flatMap(([inner, said]) => memberLines(inner, said));
}

function memberLines(name: string, value: unknown): readonly string[] {
  const lines = orderLines(name, value);
  const isNested = lines.length > 1 || (typeof value === 'object' && value !== null && !isWords(value));
  const isShare = name === 'quorum';
  if (lines.length === 0) return [`${name}: none`];
  if (!isNested || isShare) return [`${name}: ${lines[0] ?? ''}`];
  return [`${name}:`, ...lines.map((line) => `${INDENT}${line}`)];
}

/** Words stay what they are, one by one: a blank in one of them is none between two. */
function listLines(list: readonly unknown[]): readonly string[] {
  if (isWords(list)) return [JSON.stringify(list)];
  return list.flatMap((one) =>
    orderLines('', one).map((line, index) => (index === 0 ? `- ${line}` : `${INDENT}${line}`)),
  );
}

function isWords(value: object): boolean {
  return Array.isArray(value) && value.every((one) => typeof one !== 'object' || one === null);
}

/** One node that is ready is enough, as `available` of a runbook, or `--available`, says. */
function quorumText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return 'count' in value && value.count === 1 ? 'whoever is available' : shareText(value);
}
