/** The errors of every layer: the command line meets all of them. */
import '@muster/agent/errors';
import '@muster/broker/errors';
import '@muster/fabric/errors';
import '@muster/jobs/errors';
import '@muster/rules/errors';
import '@muster/nodes/errors';
import '@muster/platform/errors';
import '@muster/push/errors';
import '@muster/server/errors';
import '@muster/signing/errors';
import '@muster/store/errors';
import '@muster/tasks/errors';
import './errors.js';
