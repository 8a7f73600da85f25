import { EXIT } from '@muster/base';
import type { Completion } from '@muster/fabric/client';
import type { Command } from 'commander';
import { durationOf } from '../../duration.js';
import { MusterError } from '../../errors.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { eventLine, eventRecord } from './event-text.js';
import { connectFabric, withFabric } from './fabric.js';
import { atOf } from './flags.js';
import { type EventFlags, eventOf, withEvent } from './new-event.js';

interface PublishFlags extends EventFlags {
  readonly at?: string;
  readonly token?: string;
  readonly wait?: boolean;
  readonly timeout: string;
}

/** As of `timeout(1)`: the command may have any other exit code. */
const EXIT_TIMED_OUT = 124;
const HIGHEST_EXIT = 255;

export function addPublish(event: Command, shell: Shell): void {
  const command = withEvent(
    withFabric(
      clientCommand(event, {
        usage: 'publish <type>',
        summary: 'publish an event, now or in the future; --wait: a command, which exits as it was completed',
        examples: [
          'muster event publish temp.high --attr host=db1 --attr celsius=81',
          'muster event publish disk.report --attr host=db1 --body - < report.txt',
          'muster event publish backup.begin --at +10m',
          'muster event publish restart --attr service=web --wait --timeout 2m',
        ],
      }),
    ),
  )
    .option('--at <time>', 'publish it then: +10m, or a time such as 2026-11-20T12:00:00Z')
    .option('--token <text>', 'attribute token, which completions repeat (default with --wait: a random one)')
    .option('--wait', `wait for its completion and exit with its error code (beyond 0 to 255: 255)`)
    .option('--timeout <duration>', `how long to wait; then the exit code is ${EXIT_TIMED_OUT}`, '60s');
  does<PublishFlags>(command, shell, publish);
}

async function publish(call: Call<PublishFlags>): Promise<number> {
  const { options, args, out } = call;
  const [type = ''] = args;
  if (options.wait === true && options.at !== undefined) {
    throw new MusterError('usage', { reason: 'give either --wait or --at: a future event is not waited for' });
  }
  const timeoutMs = durationOf('--timeout', options.timeout) * 1000;
  const event = { type, ...(await eventOf(call)), ...(options.token !== undefined && { token: options.token }) };
  const at = options.at === undefined ? undefined : await atOf(options.at, call.world.now());
  const client = await connectFabric(call, { reconnect: false });
  try {
    if (options.wait === true) return told(call, await client.request(event, { timeoutMs }));
    const { scheduled } = await client.publish({ ...event, ...(at !== undefined && { at }) });
    out.document({ type, published: scheduled === undefined, scheduled: scheduled ?? null });
    out.line(scheduled === undefined ? `published ${type}` : `scheduled ${type}: ${scheduled}`);
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof MusterError) || error.code !== 'fabric_no_completion') throw error;
    out.note(`error: ${error.message}\nfix: ${error.fix}`);
    return EXIT_TIMED_OUT;
  } finally {
    await client.close();
  }
}

function told({ out }: Call<object>, { error, message }: Completion): number {
  out.document({ error, completion: eventRecord(message) });
  out.line(eventLine(message, out));
  return error >= 0 && error <= HIGHEST_EXIT ? error : HIGHEST_EXIT;
}
