import { afterAll } from 'vitest';
import { describeStore } from './conformance/index.js';
import { dropDatabase, postgres } from './postgres.js';

afterAll(dropDatabase);

describeStore('postgres', postgres);
