import { afterAll, beforeAll, describe } from 'vitest';
import { RABBITMQ_URL } from '../../broker/test/rabbitmq.js';
import { type OwnVhost, ownVhost } from '../../broker/test/vhost.js';
import { lifecycleSuite } from './suites/lifecycle.js';
import { recoveryReaderSuite } from './suites/recovery-reader.js';
import { restartSuite } from './suites/restart.js';
import { strayReadersSuite } from './suites/stray-readers.js';
import { takeoverSuite } from './suites/takeover.js';
import { type MakeBrokers, rabbitBrokers } from './support/brokers.js';
import { openRecovery } from './support/recovery.js';
import { openWorkers } from './support/worker-fixture.js';

/** What holds of jobs on the embedded broker, on RabbitMQ: of what depends on how messages come, and come again. */
describe('on RabbitMQ', () => {
  let vhost: OwnVhost;
  beforeAll(async () => {
    vhost = await ownVhost(RABBITMQ_URL);
  });
  afterAll(() => vhost?.drop());

  const brokers: MakeBrokers = () => rabbitBrokers(vhost.url)();
  const workers = () => openWorkers(brokers);
  lifecycleSuite(workers);
  takeoverSuite(workers);
  restartSuite(workers, { whole: false });
  recoveryReaderSuite(() => openRecovery(brokers), { whole: false });
  strayReadersSuite(brokers);
});
