import { EXIT } from '@muster/base';
import type { RelayStatus } from '@muster/fabric/relay';
import { formatDuration } from '../../duration.js';
import { MusterError } from '../../errors.js';
import type { Call } from '../../shell.js';
import { askRelay } from './ask.js';

export interface StatusFlags {
  readonly status?: string;
}

/** Exit code 0: every relay shown is serving. */
export async function showStatus(call: Call<StatusFlags>): Promise<number> {
  const { status } = call.options;
  const found = status === undefined ? await here(call) : [await askRelay(status)];
  call.out.document(found);
  found.forEach((relay, index) => {
    if (index > 0) call.out.line();
    for (const line of describe(relay, call)) call.out.line(line);
  });
  return found.every(({ upstream }) => upstream.state === 'serving') ? EXIT.ok : EXIT.failed;
}

/** The relays of this machine that this user may ask. */
async function here({ world }: Call<StatusFlags>): Promise<RelayStatus[]> {
  const { findStatusSockets, forgetStatusSocket } = await import('@muster/fabric/relay');
  const sockets = await findStatusSockets(world.env);
  const found: RelayStatus[] = [];
  for (const socket of sockets) {
    try {
      found.push(await askRelay(socket));
    } catch (error) {
      const code = codeOf(error);
      // Somebody else's relay.
      if (code === 'EACCES') continue;
      // The relay was killed: nobody listens there any more.
      if (code !== 'ECONNREFUSED' && code !== 'ENOENT') throw error;
      await forgetStatusSocket(socket);
    }
  }
  const [byAddress, byPid] = [(relay: RelayStatus) => relay.listen.join(' '), (relay: RelayStatus) => relay.pid];
  found.sort((one, other) => byAddress(one).localeCompare(byAddress(other)) || byPid(one) - byPid(other));
  if (found.length > 0) return found;
  throw new MusterError('relay_not_found');
}

function codeOf(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? cause.code : undefined;
}

function describe(relay: RelayStatus, { out, world }: Call<StatusFlags>): string[] {
  const { upstream, selectors, rates, totals, drops, queued, match_ms: match } = relay;
  const now = world.now();
  const ago = (time: string) => formatDuration((now - Date.parse(time)) / 1000);
  const workers = relay.workers > 1 ? `, ${relay.workers} workers` : '';
  const line = (name: string, text: string) => `  ${name.padEnd(15)}${text}`;
  return [
    `relay ${relay.listen.length > 0 ? relay.listen.join(' ') : '(takes no clients now)'} (pid ${relay.pid}${workers})`,
    line(
      'upstream',
      `${upstream.url} ${out.status(stateText(upstream.state))} for ${ago(upstream.since)}, connected ${times(upstream.connects, 'time')}`,
    ),
    ...(upstream.state === 'serving' || upstream.last_error === null ? [] : [line('', `last: ${upstream.last_error}`)]),
    line('clients', `${relay.clients}, ${queued.total} bytes wait for them, ${queued.largest} for the slowest`),
    line(
      'subscriptions',
      `${relay.subscriptions} (selectors: ${selectors.indexed} indexed, ${selectors.unindexed} not), ${relay.passed_up} passed up`,
    ),
    line(
      'down',
      `${rate(rates.events_down)} events/s, ${rate(rates.deliveries)} deliveries/s, ${rate(rates.bytes_out)} bytes/s`,
    ),
    line('up', `${rate(rates.events_up)} events/s, ${relay.unconfirmed} not confirmed, ${totals.events_failed} failed`),
    line('match', `${match.p50.toFixed(3)} ms, 99 %: ${match.p99.toFixed(3)} ms`),
    line('slow clients', `${totals.slow_disconnects} cut, ${totals.events_dropped} events dropped`),
    line(
      'drops',
      drops.last === null ? 'none' : `${drops.count}, last ${ago(drops.last.at)} ago: ${drops.last.reason}`,
    ),
  ];
}

/** `ping`, the protocol's word for it, says nothing to who has not read the protocol. */
function stateText(state: RelayStatus['upstream']['state']): string {
  return state === 'ping' ? 'connecting' : state;
}

function times(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function rate(perSecond: number): string {
  return perSecond >= 10 || perSecond === 0 ? String(Math.round(perSecond)) : perSecond.toFixed(1);
}
