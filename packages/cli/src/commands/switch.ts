import { MusterError } from '../errors.js';

/** Flags of what is changed and may be off. */
export interface SwitchFlags {
  readonly off?: boolean;
  readonly enable?: boolean;
}

/** What they say; nothing when neither is given. @throws MusterError `usage` for both */
export function switched({ off = false, enable = false }: SwitchFlags): { readonly enabled?: boolean } {
  if (off && enable) throw new MusterError('usage', { reason: 'give one of --off and --enable' });
  return off || enable ? { enabled: enable } : {};
}
