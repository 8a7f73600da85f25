export type StompVersion = '1.0' | '1.1' | '1.2';

/**
 * Decoded header lines in the order of the wire. Of a repeated name the first counts (STOMP 1.2, "Repeated Header
 * Entries").
 */
export type Headers = readonly (readonly [name: string, value: string])[];

/** A frame as people think of it: for everything but the hot paths. */
export interface Frame {
  readonly command: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

export const EMPTY_BODY = new Uint8Array(0);

/** Value of the first header of that name. */
export function header(frame: Pick<Frame, 'headers'>, name: string): string | undefined {
  for (const [key, value] of frame.headers) if (key === name) return value;
  return undefined;
}

export function frame(command: string, headers: Headers, body: Uint8Array = EMPTY_BODY): Frame {
  return { command, headers, body };
}
