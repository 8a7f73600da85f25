import { ago, isoSeconds } from '@muster/base';
import type { OwnedNode } from './owned-node.js';

/** Why a node that is up takes jobs or does not, in sentences. */
export function whyOwned({ node: { name, state, peer }, owner, waiting }: OwnedNode, now: number): string[] {
  switch (owner.kind) {
    case 'idle':
      return [`${name} is up and ready for a job.`];
    case 'job':
      return [
        `${name} is up, but busy with job ${owner.jobId}.`,
        ...(waiting.length > 0 ? [`Waiting for it: ${waiting.map((jobId) => `job ${jobId}`).join(', ')}.`] : []),
      ];
    case 'rehab':
      return [
        `${name} is up, but in rehab since ${isoSeconds(owner.since)} (${ago(now - owner.since)}): ${owner.reason}. ` +
          'It is sent abort until it acknowledges.',
        ...(state === 'terminating' ? ['It says that it is still killing a command.'] : []),
        ...(peer === null ? ['It has no connection to the command port now, so the abort cannot reach it.'] : []),
      ];
    case 'down':
      return [`${name} is up, but nobody owns it yet.`];
  }
}
