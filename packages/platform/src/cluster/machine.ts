import { CLUSTER_LIMITS } from './limits.js';

/** What one server does in its cluster. */
export type Leadership =
  /** Another server leads, or nobody does; requests are passed on to who does. Ends when the lease is acquired. */
  | { readonly role: 'follower' }
  /** It acts for the cluster, as a server does that is alone. `actUntil`, by its monotonic clock: until then nobody else can have taken over. */
  | {
      readonly role: 'leader';
      readonly epoch: number;
      readonly actUntil: number;
      /** Since when neither the database nor another server has answered; null: one did. */
      readonly isolatedSince: number | null;
    }
  /** It led, and somebody else does now, or may: whatever it goes on to do counts for nothing, so the process ends. */
  | { readonly role: 'deposed'; readonly why: string };

/** What was heard, of the lease and of the other servers. `now` is the monotonic clock. */
export type LeadershipEvent =
  | { readonly type: 'acquired' | 'renewed'; readonly epoch: number; readonly actUntil: number }
  /** Another server has the lease. */
  | { readonly type: 'held' }
  /** The lease was somebody else's when it was to be renewed, or the database refused to store something for it. */
  | { readonly type: 'lost' }
  /** The database did not answer. */
  | { readonly type: 'no answer'; readonly now: number }
  /** Other servers were asked who leads. `epoch`: the newest that one of them knows; null: none of them answered. */
  | { readonly type: 'others said'; readonly epoch: number | null; readonly asked: number; readonly now: number }
  /** The lease was given back in order. */
  | { readonly type: 'resigned' };

/**
 * | is | acquired, renewed | held | lost | no answer | others said | resigned |
 * |---|---|---|---|---|---|---|
 * | follower | leader | follower | follower | follower | follower | follower |
 * | leader | leader, for longer | deposed | deposed | leader; it asks the others once its time is over | deposed by a later epoch, or when nobody has answered for long | follower |
 * | deposed | deposed | deposed | deposed | deposed | deposed | deposed |
 *
 * A database that is away deposes nobody: no other server can take over meanwhile, and nothing can be stored. A leader that is cut off from the
 * database and from all others cannot know that, so it ends: its nodes find the server that leads then.
 */
export function stepLeadership(state: Leadership, event: LeadershipEvent): Leadership {
  if (state.role === 'deposed') return state;
  switch (event.type) {
    case 'acquired':
    case 'renewed':
      return { role: 'leader', epoch: event.epoch, actUntil: event.actUntil, isolatedSince: null };
    case 'held':
    case 'lost':
      return state.role === 'leader' ? deposed('another server of the cluster has taken over') : state;
    case 'no answer':
      return state;
    case 'others said':
      return state.role === 'leader' ? judged(state, event) : state;
    case 'resigned':
      return { role: 'follower' };
  }
}

/** Its time is over, and the database has not said whether somebody else has taken over: the other servers may know. */
export function asksOthers(state: Leadership, now: number): boolean {
  return state.role === 'leader' && now >= state.actUntil;
}

function judged(
  leader: Extract<Leadership, { role: 'leader' }>,
  { epoch, asked, now }: Extract<LeadershipEvent, { type: 'others said' }>,
): Leadership {
  if (epoch !== null && epoch > leader.epoch) return deposed('another server of the cluster has taken over');
  // Who is alone cannot be cut off from others.
  if (epoch !== null || asked === 0) return { ...leader, isolatedSince: null };
  const since = leader.isolatedSince ?? now;
  if (now - since >= CLUSTER_LIMITS.isolatedMs) return deposed('neither the database nor another server answers');
  return { ...leader, isolatedSince: since };
}

function deposed(why: string): Leadership {
  return { role: 'deposed', why };
}
