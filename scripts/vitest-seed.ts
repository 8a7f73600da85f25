import fc from 'fast-check';
import { testSeed } from './test-seed.js';

/** Before every test file: the seed of all properties. */
const seed = testSeed();
fc.configureGlobal(seed === null ? {} : { seed });
