import { RARE } from '../../src/push/rare.js';
import { simulate } from '../../src/push/run.js';
import { holdUnderFaults } from '../kernel/hold.js';

const PUSH = {
  about: 'push jobs keep their promises under every fault',
  simulate,
  rare: RARE,
  flags: '',
  perTest: 50,
};

export const holdPushUnderFaults = (first: number, last: number): void => holdUnderFaults(PUSH, first, last);
