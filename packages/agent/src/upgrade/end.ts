import type { CommandResult } from '@muster/wire';

/** How an upgrade has ended, as any command ends. */
export type UpgradeOutcome = Omit<CommandResult, 'jobId'>;

/** `handed over`: the next agent tells how it has ended. */
export type UpgradeEnd = UpgradeOutcome | 'handed over';
