import { type Command, Option } from 'commander';
import { collect } from '../shell.js';

/** What a schedule or a rule heeds. */
export interface BlackoutFlags {
  readonly notDuring?: readonly string[];
  readonly blackout?: string;
}

export function withBlackouts(command: Command): Command {
  return command
    .option('--not-during <calendar>', "start nothing at its times; may be repeated; '' for none any more", collect)
    .addOption(
      new Option(
        '--blackout <rule>',
        'what falls into them is left out (skip), or started at their end (wait)',
      ).choices(['skip', 'wait']),
    );
}

export function blackoutsOf({ notDuring, blackout }: BlackoutFlags): Readonly<Record<string, unknown>> {
  return {
    ...(notDuring !== undefined && { not_during: notDuring.filter((name) => name !== '') }),
    ...(blackout !== undefined && { blackout }),
  };
}

export function notDuringText(names: readonly string[], blackout: string): string {
  return `${names.join(', ')} (${blackout === 'wait' ? 'waits for the end' : 'skips'})`;
}
