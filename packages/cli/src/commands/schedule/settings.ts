import { EXIT } from '@muster/base';
import { type Command, Option } from 'commander';
import { MusterError } from '../../errors.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { type Asked, isAsked, tellAsked } from '../approval/asked.js';
import { blackoutsOf, withBlackouts } from '../not-during.js';
import { tellItem } from '../resource.js';
import { warnOfUnquoted } from '../unquoted.js';
import type { ScheduleDetail } from './api.js';
import { runsNext, tell } from './show.js';
import { addWorkFlags, changedWork, givenWork, type WorkFlags, wholeWork } from './work.js';

interface SettingFlags extends WorkFlags {
  readonly cron?: string;
  readonly tz?: string;
  readonly missed?: string;
  readonly overlap?: string;
  readonly notDuring?: readonly string[];
  readonly blackout?: string;
  readonly paused?: boolean;
}

export function addCreate(schedule: Command, shell: Shell): void {
  const command = clientCommand(schedule, {
    usage: 'create <schedule>',
    summary: 'add a task, or start a push job, again and again',
    examples: [
      "muster schedule create nightly --cron '0 3 * * *' --tz Europe/Berlin --queue resize --param what=all",
      "muster schedule create patch --cron '30 4 * * sun' --push 'apt-get -y upgrade' --target env:test --concurrency 10%",
      'muster schedule create tidy --cron @daily --script tidy.sh --arg --older-than --arg 7d --target role:web',
      'muster schedule create poll --cron @hourly --queue mail --overlap queue --missed skip',
      'muster schedule create patch --cron @daily --push patch --target env:prod --not-during freeze --blackout wait',
    ],
  });
  command.requiredOption('--cron <fields>', 'minute hour day month weekday, or @hourly, @daily, @weekly, @monthly');
  withTiming(command).option('--paused', 'begin paused: it does not run until it is resumed');
  addWorkFlags(command);
  does<SettingFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    await warn(call);
    const work = wholeWork(await givenWork(call));
    const body = { name, ...timingOf(call.options), ...(call.options.paused && { paused: true }), ...work };
    const answer = await call.client.post<ScheduleDetail | Asked>(call.client.inOrg('schedules'), body);
    if (isAsked(answer)) return tellAsked(call, answer);
    tellItem(call, answer, ({ out }, made) => {
      out.line(`created schedule ${made.name}: ${runsNext(made) ?? 'it is paused'}`);
    });
    return EXIT.ok;
  });
}

export function addSet(schedule: Command, shell: Shell): void {
  const command = clientCommand(schedule, {
    usage: 'set <schedule>',
    summary: 'change when it runs, or what; from then on it runs with your rights',
    examples: [
      "muster schedule set nightly --cron '0 4 * * *'",
      'muster schedule set nightly --param what=new --overlap queue',
      "muster schedule set patch --target 'env:test OR env:prod'",
    ],
  });
  command.option('--cron <fields>', 'minute hour day month weekday');
  addWorkFlags(withTiming(command));
  does<SettingFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const path = call.client.inOrg('schedules', name);
    const timing = timingOf(call.options);
    await warn(call);
    const given = await givenWork(call);
    const works = given.task !== null || given.push !== null;
    if (!works && Object.keys(timing).length === 0)
      throw new MusterError('usage', { reason: 'say what is to be changed' });
    const work = works ? changedWork(given, await call.client.get<ScheduleDetail>(path)) : {};
    const answer = await call.client.patch<ScheduleDetail | Asked>(path, { ...timing, ...work });
    if (isAsked(answer)) return tellAsked(call, answer);
    tellItem(call, answer, tell);
    return EXIT.ok;
  });
}

function withTiming(command: Command): Command {
  return withBlackouts(command)
    .option('--tz <zone>', 'whose clocks that means: Europe/Berlin (default: UTC)')
    .addOption(
      new Option('--missed <rule>', 'times at which the server was not there: run once for them, or not').choices([
        'run-once',
        'skip',
      ]),
    )
    .addOption(
      new Option('--overlap <rule>', 'when the run before goes on: run beside it, not at all, or after it').choices([
        'allow',
        'skip',
        'queue',
      ]),
    );
}

function timingOf({ cron, tz, missed, overlap, ...given }: SettingFlags): Readonly<Record<string, unknown>> {
  return {
    ...(cron !== undefined && { cron }),
    ...(tz !== undefined && { timezone: tz }),
    ...(missed !== undefined && { missed }),
    ...(overlap !== undefined && { overlap }),
    ...blackoutsOf(given),
  };
}

async function warn(call: Call<SettingFlags>): Promise<void> {
  if (call.options.target !== undefined) await warnOfUnquoted(call, call.options.target);
}
