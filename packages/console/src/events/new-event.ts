import { filledLines } from '../parts/filled-lines.js';
import { timeOf } from '../parts/later-time.js';
import { musterCommand } from '../parts/shell.js';

/** An event as it is written down before it is published. */
export interface Draft {
  readonly type: string;
  /** `name=value` a line; their order is kept. */
  readonly attributes: string;
  readonly body: string;
  /** When; '': now. */
  readonly at: string;
}

export const EMPTY_DRAFT: Draft = { type: '', attributes: '', body: '', at: '' };

export interface NewEvent {
  readonly type: string;
  readonly attributes: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  readonly at?: number;
}

type Wrong = Partial<Record<keyof Draft, string>>;

/** What is published, or what of it cannot be read. @param now Milliseconds since the epoch. */
export function readDraft(draft: Draft, now: number): { readonly event: NewEvent; readonly wrong: Wrong } {
  const attributes = filledLines(draft.attributes).map(([at, line]) => {
    const end = line.indexOf('=');
    return { at, name: line.slice(0, Math.max(0, end)).trim(), value: line.slice(end + 1).trim() };
  });
  const unnamed = attributes.find(({ name }) => name === '');
  const type = draft.type.trim();
  const at = timeOf(draft.at, now);
  const wrong: Wrong = {
    ...(unnamed !== undefined && { attributes: `Line ${unnamed.at} must be name=value.` }),
    ...(at === null && { at: 'It must be +10m, or a time with its zone.' }),
  };
  const event = {
    type,
    attributes: attributes.map(({ name, value }) => [name, value] as const),
    body: draft.body,
    ...(typeof at === 'number' && { at }),
  };
  return { event, wrong };
}

export function publishCommand({ type, attributes, body, at }: Draft): string {
  return musterCommand(
    ...['event', 'publish', type.trim() === '' ? 'TYPE' : type.trim()],
    ...filledLines(attributes).flatMap(([, line]) => ['--attr', line]),
    ...(body === '' ? [] : ['--body', body]),
    ...(at.trim() === '' ? [] : ['--at', at.trim()]),
  );
}
