import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { clientCommand, does, type Shell } from '../../shell.js';

interface NextOptions {
  readonly tz: string;
}

const TIMES = 5;

/** Reckoned here, by the code that the server reckons with: no server is asked. */
export function addNext(schedule: Command, shell: Shell): void {
  const command = clientCommand(schedule, {
    usage: 'next <cron>',
    summary: 'the next five times of an expression; asks no server',
    examples: ["muster schedule next '0 3 * * mon-fri' --tz Europe/Berlin", 'muster schedule next @monthly'],
  });
  command.option('--tz <zone>', 'whose clocks it means', 'UTC');
  does<NextOptions>(command, shell, async ({ args, options, out, world }) => {
    const [expression = ''] = args;
    const { Cron, CronMistake, Zone } = await import('@muster/tasks/cron');
    const zone = Zone.find(options.tz);
    if (zone === undefined) {
      throw new MusterError('usage', {
        reason: `--tz: there is no time zone '${options.tz}'; write one such as Europe/Berlin or UTC`,
      });
    }
    try {
      const cron = new Cron(expression, zone);
      const times: number[] = [];
      for (let at = world.now(); times.length < TIMES; times.push(at)) at = cron.after(at);
      out.document(times.map((at) => new Date(at).toISOString()));
      for (const at of times) out.line(`${zoned(at, zone.wallAt(at))} ${zone.name}`);
    } catch (error) {
      if (!(error instanceof CronMistake)) throw error;
      throw new MusterError('usage', { reason: `'${expression}': ${error.message}` }, { cause: error });
    }
  });
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** `Mon 2026-11-23 03:00 +01:00` */
function zoned(at: number, wall: number): string {
  const shown = new Date(wall);
  const ahead = Math.round((wall - at) / 60_000);
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const offset = `${ahead < 0 ? '-' : '+'}${two(Math.abs(ahead) / 60)}:${two(Math.abs(ahead) % 60)}`;
  return `${WEEKDAYS[shown.getUTCDay()]} ${shown.toISOString().slice(0, 16).replace('T', ' ')} ${offset}`;
}
