import { shareText } from '../../share.js';

/** Characters of a signature that are shown: nobody reads it, but two can be told apart. */
const SIGNATURE_SHOWN = 12;
/** Whatever else bears that name, such as a parameter, is shown whole. */
const SIGNATURE = /^[A-Za-z0-9+/_-]{40,}={0,2}$/;
const INDENT = '  ';

/** What an order says under one name, as lines for people. */
export function orderLines(name: string, value: unknown): readonly string[] {
  if (name === 'quorum' && isShare(value)) return [quorumText(value)];
  if (name === 'signature' && typeof value === 'string' && SIGNATURE.test(value))
    return [`${value.slice(0, SIGNATURE_SHOWN)}… (${value.length} characters)`];
  if (typeof value === 'string') return value.trimEnd().split('\n');
  if (value === null) return [];
  if (typeof value !== 'object') return [String(value)];
  if (Array.isArray(value)) return listLines(value);
  return Object.entries(value).flatMap(([inner, said]) => memberLines(inner, said));
}

function memberLines(name: string, value: unknown): readonly string[] {
  const lines = orderLines(name, value);
  if (lines.length === 0) return [`${name}: none`];
  const isPlain =
    typeof value !== 'object' || value === null || isWords(value) || (name === 'quorum' && isShare(value));
  if (isPlain && lines.length === 1) return [`${name}: ${lines[0]}`];
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

type Share = { readonly count: number } | { readonly percent: number };

function isShare(value: unknown): value is Share {
  if (typeof value !== 'object' || value === null) return false;
  const [[name, share] = [], ...others] = Object.entries(value);
  return others.length === 0 && (name === 'count' || name === 'percent') && typeof share === 'number';
}

/** One node that is ready is enough, as `available` of a runbook, or `--available`, says. */
function quorumText(share: Share): string {
  return 'count' in share && share.count === 1 ? 'whoever is available' : shareText(share);
}
