const MOST = 64;

/** Received text as messages show it: in quotes, escaped, cut. */
export function quote(text: string): string {
  return JSON.stringify(text.length > MOST ? `${text.slice(0, MOST)}…` : text);
}
