const LF = 10;
const N = 110;
const COLON = 58;
const ZERO = 48;

/** Ids of the events whose `n` is told of in these bytes: those cut off at their end are found in the next ones, or not. */
export function idsIn(bytes: Uint8Array): number[] {
  const ids: number[] = [];
  for (let at = 0; at + 3 < bytes.length; at++) {
    if (bytes[at] !== LF || bytes[at + 1] !== N || bytes[at + 2] !== COLON) continue;
    let id = 0;
    let digit = at + 3;
    for (; digit < bytes.length; digit++) {
      const value = (bytes[digit] as number) - ZERO;
      if (value < 0 || value > 9) break;
      id = id * 10 + value;
    }
    if (digit < bytes.length) ids.push(id);
  }
  return ids;
}

const SHOWN = /^(destination|id|n|receipt|receipt-id|subscription|message-id|message|from|request|refused)(?=:)/;

/** Frames, or pieces of them, in a line. */
export function framesOf(text: string): string {
  const frames = text.split('\0').map((frame) => {
    const [head = ''] = frame.replace(/^\n+/, '').split('\n\n');
    const [command = '', ...lines] = head.split('\n');
    return [command, ...lines.filter((line) => SHOWN.test(line) && line !== 'destination:/topic/events')].join(' ');
  });
  return frames.filter((frame) => frame !== '').join(' | ') || 'beat';
}
