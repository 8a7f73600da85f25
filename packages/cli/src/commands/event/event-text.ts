import type { EventMessage } from '@muster/fabric/client';
import type { Output } from '../../output.js';
import { printable } from '../../printable.js';
import { timeText } from '../../summary.js';

/** Characters of a body in a line. */
const BODY_CHARS = 160;

/** One line for people: time, type, source and its kind, attributes in order, and the body, shortened. */
export function eventLine(event: EventMessage, out: Output): string {
  const attributes = event.attributes
    .filter(([name]) => name !== 'type')
    .map(([name, value]) => `${out.paint(`${printable(name)}=`, 'dim')}${wordOf(value)}`);
  const parts = [
    out.paint(timeText(event.time), 'dim'),
    out.paint(printable(event.type), 'bold'),
    out.paint(sourceOf(event), 'cyan'),
    ...attributes,
    ...bodyOf(event),
  ];
  return parts.join(' ');
}

/** The same for programs. The body is text where it is UTF-8; of attributes of one name the first counts. */
export function eventRecord(event: EventMessage): object {
  const { position, time, type, org, source, sourceKind, contentType } = event;
  const attributes: Record<string, string> = {};
  for (const [name, value] of event.attributes) {
    if (name !== 'type' && !Object.hasOwn(attributes, name)) attributes[name] = value;
  }
  const text = textOf(event.body());
  return {
    position,
    time,
    type,
    org,
    source,
    source_kind: sourceKind,
    attributes,
    ...(contentType !== undefined && { content_type: contentType }),
    ...(text === null ? { body_base64: Buffer.from(event.body()).toString('base64') } : { body: text }),
  };
}

/** A user may have the name of a node or a service. What the server tells has a name that nobody else has. */
function sourceOf({ source, sourceKind }: EventMessage): string {
  if (source === '') return '-';
  return printable(sourceKind === '' || sourceKind === 'server' ? source : `${source} (${sourceKind})`);
}

function wordOf(value: string): string {
  const shown = printable(value);
  return /^[^\s"']+$/.test(shown) ? shown : `"${shown.replaceAll('"', '\\"')}"`;
}

function bodyOf(event: EventMessage): string[] {
  const body = event.body();
  if (body.length === 0) return [];
  const text = textOf(body);
  if (text === null) return [`<${body.length} bytes>`];
  const shown = printable(text.trimEnd());
  return shown.length <= BODY_CHARS ? [shown] : [`${shown.slice(0, BODY_CHARS)}…`];
}

/** Null: it is not UTF-8. */
function textOf(body: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return null;
  }
}
