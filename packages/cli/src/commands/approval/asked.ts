import { EXIT } from '@muster/base';
import type { Call } from '../../shell.js';
import { timeText } from '../../summary.js';

/** What waits until others have agreed. */
export interface Asked {
  readonly approval: string;
  readonly expires_at: string;
}

export function isAsked(answer: object): answer is Asked {
  return 'approval' in answer && 'hash' in answer;
}

/** Nothing was started or changed. */
export function tellAsked({ out }: Call<object>, asked: Asked): number {
  out.document(asked);
  out.line(`It waits for somebody else to agree until ${timeText(asked.expires_at)}: approval ${asked.approval}`);
  out.line(`They do so with: muster approval grant ${asked.approval}`);
  return EXIT.asked;
}
