import type { EventMessage } from '@muster/fabric/client';

/** An event of the log, as the screens take it. */
export interface LiveEvent {
  readonly position: number;
  readonly type: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** `ORG/NAME` of who published it. */
  readonly source: string;
  /** In the order of the wire. */
  readonly attributes: readonly (readonly [name: string, value: string])[];
  readonly contentType: string | null;
  readonly body: string;
}

export function liveEvent(message: EventMessage): LiveEvent {
  return {
    position: message.position ?? 0,
    type: message.type,
    at: Date.parse(message.time),
    source: message.source,
    attributes: message.attributes,
    contentType: message.contentType ?? null,
    body: message.text(),
  };
}

/** Value of the first attribute of that name. */
export function attribute(event: LiveEvent, name: string): string | null {
  return event.attributes.find(([each]) => each === name)?.[1] ?? null;
}

export type Data = Readonly<Record<string, unknown>>;

/** The body, as our own events have it; nothing when it is no object. */
export function dataOf(event: LiveEvent): Data {
  try {
    const body: unknown = JSON.parse(event.body);
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Data) : {};
  } catch {
    return {};
  }
}

export function textIn(data: Data, name: string): string | null {
  const value = data[name];
  return typeof value === 'string' ? value : null;
}
