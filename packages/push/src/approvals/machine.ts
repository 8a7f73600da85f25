/** One request for a second person, drawn in docs/reference/state-machines.md. */

export const APPROVAL_STATUSES = [
  /** Waits for somebody else; ends when one grants or denies it, or its time is over. */
  'pending',
  /** Granted by as many as have to: what it starts is stored with the last grant, in one commit. */
  'started',
  'denied',
  /** Nobody decided in time. */
  'expired',
] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

export interface ApprovalState {
  readonly status: ApprovalStatus;
  /** Id of the principal who asks. */
  readonly askerId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export type ApprovalEvent =
  /** Somebody who may agrees to what has this hash. `same`: that is what would be started. `enough`: nobody else has to. */
  | { readonly type: 'grant'; readonly by: string; readonly same: boolean; readonly enough: boolean }
  | { readonly type: 'deny' }
  | { readonly type: 'clock' };

export type ApprovalStep =
  /** `pending`: the grant counts, and others have to agree besides. */
  | { readonly to: ApprovalStatus }
  /** Nothing changes. */
  | { readonly refused: 'decided' | 'expired' | 'not_same' | 'own' | 'waits' };

/** Pure. What is decided is decided once. */
export function stepApproval(
  { status, askerId, expiresAt }: ApprovalState,
  event: ApprovalEvent,
  now: number,
): ApprovalStep {
  if (status !== 'pending') return { refused: 'decided' };
  const over = now >= expiresAt;
  switch (event.type) {
    case 'clock':
      return over ? { to: 'expired' } : { refused: 'waits' };
    case 'deny':
      return over ? { refused: 'expired' } : { to: 'denied' };
    case 'grant':
      if (over) return { refused: 'expired' };
      if (event.by === askerId) return { refused: 'own' };
      if (!event.same) return { refused: 'not_same' };
      return { to: event.enough ? 'started' : 'pending' };
  }
}
