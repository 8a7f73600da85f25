import { MUSTER } from '../log/own-events.js';
import type { Actor } from './types.js';

/** Of what nobody asked for: the server does it by itself. */
export const SERVER: Actor = { name: MUSTER, kind: 'server' };
