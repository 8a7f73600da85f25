import type { Change } from './records.js';

/** What an agent and the process that watches over it say to each other, of whichever versions they are. JSON, over Node's own channel. */
export type ToSupervisor =
  | { readonly do: 'switch'; readonly id: number; readonly change: Change }
  | { readonly do: 'settle'; readonly id: number };
export type ToAgent =
  | { readonly do: 'answer'; readonly id: number; readonly refused: string | null }
  | { readonly do: 'stop' };

/** Names the process that started this one to watch over it. */
export const SUPERVISOR_VARIABLE = 'MUSTER_AGENT_SUPERVISOR';

/** The process that watches over this agent. */
export interface UpgradeSupervisor {
  readonly pid: number;
  /** Has the change written down. Why it cannot be; null: the new version is started as soon as this process has ended. */
  switchTo(change: Change): Promise<string | null>;
  /** This agent has reached the server, and knows how the upgrade went. Why that could not be written down; null: it is. */
  settle(): Promise<string | null>;
  /** Resolves when it says that this agent is to stop, or is gone itself. */
  readonly toldToStop: Promise<void>;
  /** This process does not listen any more, and may end. */
  release(): void;
}

type Channel = Pick<NodeJS.Process, 'env' | 'ppid' | 'send' | 'on' | 'disconnect' | 'connected'>;

/** Null: nothing watches over this process. */
export function ownSupervisor(channel: Channel = process): UpgradeSupervisor | null {
  const { ppid } = channel;
  if (channel.send === undefined || channel.env[SUPERVISOR_VARIABLE] !== String(ppid)) return null;
  const waiting = new Map<number, (refused: string | null) => void>();
  let asked = 0;
  let stop = (): void => undefined;
  const toldToStop = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const ask = (question: { readonly do: 'settle' } | { readonly do: 'switch'; readonly change: Change }) =>
    new Promise<string | null>((resolve) => {
      if (!channel.connected) return resolve('nothing watches over this agent any more');
      asked += 1;
      waiting.set(asked, resolve);
      channel.send?.({ ...question, id: asked } satisfies ToSupervisor);
    });
  channel.on('message', (message: unknown) => {
    const said = message as ToAgent;
    if (said.do === 'stop') return stop();
    if (said.do !== 'answer') return;
    waiting.get(said.id)?.(said.refused);
    waiting.delete(said.id);
  });
  channel.on('disconnect', () => {
    for (const answered of waiting.values()) answered('nothing watches over this agent any more');
    waiting.clear();
    stop();
  });
  return {
    pid: ppid,
    switchTo: (change) => ask({ do: 'switch', change }),
    settle: () => ask({ do: 'settle' }),
    toldToStop,
    release: () => {
      if (channel.connected) channel.disconnect?.();
    },
  };
}
