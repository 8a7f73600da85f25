/** Why a task ended whose time was over. */
export function limitReason(limitMs: number): string {
  return `it took longer than its limit of ${limitMs / 1000} s, and was ended`;
}
