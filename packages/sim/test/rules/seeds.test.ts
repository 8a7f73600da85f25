import { describe } from 'vitest';
import { RARE_IN_RULES } from '../../src/rules/rare.js';
import { simulateRules } from '../../src/rules/run.js';
import { holdUnderFaults } from '../kernel/hold.js';

const RULES = { simulate: simulateRules, rare: RARE_IN_RULES, flags: ' --rules', perTest: 5 };

describe('rules that others agree to keep their promises, whenever the server is killed', () =>
  holdUnderFaults(RULES, 1, 30));
