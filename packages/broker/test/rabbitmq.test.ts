import { describeBroker } from './conformance/index.js';
import { rabbitmq } from './rabbitmq.js';

describeBroker('rabbitmq', () => rabbitmq());
