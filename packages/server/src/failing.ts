import { MusterError } from './errors.js';

/** The process cannot go on: what failed, and why. The first time counts. */
export type Fail = (what: string, cause: unknown) => void;

/** `failed` resolves (`server_failed`) with what `fail` is told first. */
export function failing(): { readonly failed: Promise<MusterError>; readonly fail: Fail } {
  let fail: Fail = () => undefined;
  const failed = new Promise<MusterError>((resolve) => {
    fail = (what, cause) => {
      const reason = `${what} (${cause instanceof Error ? cause.message : String(cause)})`;
      resolve(new MusterError('server_failed', { reason }, { cause }));
    };
  });
  return { failed, fail };
}
