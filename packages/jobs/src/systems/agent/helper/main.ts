import { Socket } from 'node:net';
import { systemClock } from '@muster/base';
import { serveSystem } from './serve.js';

/**
 * The program that an agent starts as the user of a system: `NAME ROOT WITHIN`, and the connection to the worker as its fourth
 * descriptor. It ends with the connection; what the scheduler of the system has started goes on.
 */
const [, , name = '', root = '', within = ''] = process.argv;
const connection = new Socket({ fd: 3, readable: true, writable: true });
void serveSystem(connection, { name, root, within }, systemClock).then(() => process.exit());
