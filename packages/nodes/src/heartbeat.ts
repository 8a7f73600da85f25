import { type Clock, every, type Timer } from '@muster/base';
import type { ServerKeys } from '@muster/signing';
import { encodeServerHeartbeat, encodeSpec1Heartbeat } from '@muster/wire';
import type { Transport } from './transport.js';

export interface HeartbeatDeps {
  readonly clock: Clock;
  readonly transport: Transport;
  readonly intervalMs: number;
  readonly serverName: string;
  readonly incarnation: string;
  /** Persistent, so that agents trust a restarted server at once. */
  readonly serverKeys: ServerKeys;
  /** Also on the unencrypted spec 1.0 sockets. */
  readonly plain: boolean;
}

/** The server's heartbeat (Push Jobs §4.1): one signed broadcast an interval, numbered from 0. */
export function startHeartbeat(deps: HeartbeatDeps): Timer {
  const { clock, transport, serverName, incarnation, serverKeys } = deps;
  let sequence = 0;
  const beat = (): void => {
    const content = { server: serverName, incarnation, sequence, now: clock.now() };
    sequence += 1;
    const key = serverKeys.present.privateKey;
    transport.publish('curve', encodeServerHeartbeat(content, key));
    if (deps.plain) transport.publish('plain', encodeSpec1Heartbeat(content, key));
  };
  beat();
  return every(clock, deps.intervalMs, beat);
}
