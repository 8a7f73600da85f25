import { EXIT } from '@muster/base';
import type { Client, ClientStatus, EventMessage, Subscription } from '@muster/fabric/client';
import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { checkSelector } from './check-selector.js';
import { eventLine, eventRecord } from './event-text.js';
import { connectFabric, type FabricFlags, signatureKey, withFabric } from './fabric.js';
import { checkDurable, checkFrom } from './flags.js';

interface WatchFlags extends FabricFlags {
  readonly from?: string;
  readonly count?: string;
  readonly durable?: string;
  readonly verify?: string;
}

export function addWatch(event: Command, shell: Shell): void {
  const command = withFabric(
    clientCommand(event, {
      usage: 'watch [selector]',
      summary: 'follow events as they happen, one a line, until Ctrl-C; without a selector all of them',
      examples: [
        'muster event watch "type LIKE \'push.%\'"',
        'muster event watch "celsius > 80" --from -1h',
        'muster event watch "type = \'deploy\'" --count 1 --json',
        'muster event watch "type = \'mail\'" --durable mailer --json',
      ],
    }),
  )
    .option('--from <place>', 'begin in the past: -30m, -1h, a time such as 2026-11-20T12:00:00Z, a position, or first')
    .option('--count <number>', 'end after so many events')
    .option('--durable <name>', 'go on where the last watch of this name ended; the server keeps the place')
    .option('--verify <file>', 'only events signed with the key in this file');
  does<WatchFlags>(command, shell, watch);
}

async function watch(call: Call<WatchFlags>): Promise<number> {
  const { options, args, world } = call;
  const [selector = ''] = args;
  checkSelector(call.out, selector);
  const most = countOf(options.count);
  if (options.from !== undefined) await checkFrom(options.from);
  if (options.durable !== undefined) await checkDurable(options.durable);
  const verify = options.verify === undefined ? undefined : signatureKey(call, options.verify);
  const connection = new ConnectionNotes(call, options.from !== undefined || options.durable !== undefined);
  let client: Client | null = null;
  let interrupted = false;
  const stop = world.onSignal(['SIGINT', 'SIGTERM'], () => {
    interrupted = true;
    void client?.close();
  });
  try {
    client = await connectFabric(call, { onStatus: (status) => connection.tell(status) });
    if (interrupted) return EXIT.ok;
    const events = client.subscribe({
      ...(selector !== '' && { selector }),
      ...(options.from !== undefined && { from: options.from }),
      ...(options.durable !== undefined && { durable: options.durable, ack: 'client' }),
      ...(verify !== undefined && { verify, onRefused: (event: EventMessage) => refused(call, event) }),
    });
    await events.ready;
    call.out.note(`watching ${urlOf(client.status)}; Ctrl-C ends`);
    if (events.narrowed) call.out.note('events that you may not follow are not shown');
    connection.begin();
    await show(call, events, most);
  } finally {
    await client?.close();
    stop();
  }
  return EXIT.ok;
}

async function show(call: Call<WatchFlags>, events: Subscription, most: number): Promise<void> {
  const { out, options } = call;
  let shown = 0;
  /** Shown, while it is not known whether the server has heard that: it delivers them again after a lost connection. */
  const unconfirmed = new Set<string>();
  const acknowledge = (event: EventMessage): void => {
    const key = keyOf(event);
    unconfirmed.add(key);
    // Not awaited one by one; closing waits for them.
    event.ack().then(
      () => unconfirmed.delete(key),
      () => undefined,
    );
  };
  for await (const event of events) {
    if (event.isMarker) {
      dropped(call, event);
      continue;
    }
    if (unconfirmed.has(keyOf(event))) {
      acknowledge(event);
      continue;
    }
    const line = out.json ? JSON.stringify(eventRecord(event)) : eventLine(event, out);
    await out.raw(Buffer.from(`${line}\n`));
    if (options.durable !== undefined) acknowledge(event);
    shown += 1;
    if (shown >= most) return;
  }
}

/** Positions alone are given again where an older copy of the database was put back. */
function keyOf({ id, time }: EventMessage): string {
  return `${id} ${time}`;
}

/** For people, and for scripts that publish when somebody watches. */
function urlOf(status: ClientStatus): string {
  return 'url' in status ? status.url : 'events';
}

function refused({ out }: Call<object>, { id, type, source }: EventMessage): void {
  out.note(`not shown: event ${id} (${type} of ${source}) has no valid signature`);
}

function dropped({ out }: Call<object>, marker: EventMessage): void {
  const count = marker.get('dropped');
  const missing = count === undefined ? 'events may be missing here' : `${count} events are missing here`;
  out.note(`${missing}: ${marker.get('reason') ?? 'they were not read fast enough'}`);
}

function countOf(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new MusterError('usage', { reason: `--count must be a whole number from 1 on, got '${text}'` });
}

/** Says on stderr when the connection is lost and found. */
class ConnectionNotes {
  readonly #call: Call<object>;
  readonly #complete: boolean;
  #begun = false;
  #lost = false;

  /** @param complete What is published meanwhile comes afterwards. */
  constructor(call: Call<object>, complete: boolean) {
    this.#call = call;
    this.#complete = complete;
  }

  /** Before, it is not known whether there will be anything to watch: what is refused ends the connection, too. */
  begin(): void {
    this.#begun = true;
  }

  tell(status: ClientStatus): void {
    if (!this.#begun) return;
    const { out } = this.#call;
    if (status.state === 'lost' && status.retryMs !== null) {
      this.#lost = true;
      out.note(`${status.error.message}; connecting again in ${Math.ceil(status.retryMs / 1000)} s`);
    } else if (status.state === 'connected' && this.#lost) {
      this.#lost = false;
      const rest = this.#complete ? 'events of the meantime follow' : 'events of the meantime are missed (see --from)';
      out.note(`connected again to ${status.url}; ${rest}`);
    }
  }
}
